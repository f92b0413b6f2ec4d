import { type Input, type Io, printReport } from '@kim/cli-kit'

/** Prints what a command did: one JSON object, or lines for a person. */
export function report(input: Input, io: Io, facts: object, lines: readonly string[]): void {
  printReport(io, input.bool('json'), facts, lines)
}
