import { type Input, type Io, safeText } from '@kim/cli-kit'

/** Prints what a command did: one JSON object, or lines for a person. */
export function report(input: Input, io: Io, facts: object, lines: readonly string[]): void {
  if (input.bool('json')) io.stdout.write(`${JSON.stringify(facts)}\n`)
  else io.stdout.write(lines.map(line => `${safeText(line)}\n`).join(''))
}
