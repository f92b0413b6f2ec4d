import { existsSync, readFileSync } from 'node:fs'

/** One event line, parsed. */
export type Line = Readonly<Record<string, unknown>>

/** The event lines of a text; anything that is not a whole line of JSON is an error. */
export function parsed(text: string): Line[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error(`it ends inside a line: ${text.slice(-100)}`)
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Line)
}

/** The event lines of a file; none if it is not there. */
export function linesIn(path: string): Line[] {
  return existsSync(path) ? parsed(readFileSync(path, 'utf8')) : []
}

/** What lines tell, in order: `new 5`, `armed(4)`, `alert unreachable`. */
export function told(lines: readonly Line[]): string[] {
  return lines.map(line => {
    if (line['event'] === 'new') return `new ${line['id']}`
    if (line['event'] === 'armed') return `armed(${line['cursor']})`
    return String(line['event'])
  })
}

/** The ids of the mail among lines, in order. */
export function mail(lines: readonly Line[]): number[] {
  return lines.filter(({ event }) => event === 'new').map(({ id }) => Number(id))
}

/** The log of a producer: the JSON lines on its stderr. */
export function logOf(stderr: string): Line[] {
  return stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)
}

/** Lines of a log with a code. */
export function said(stderr: string, code: string): Line[] {
  return logOf(stderr).filter(line => line['code'] === code)
}
