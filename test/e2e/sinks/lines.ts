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

/** The event lines of a text that is still being written: the end of it may be a part of a line. */
export function wholeLines(text: string): Line[] {
  return parsed(text.slice(0, text.lastIndexOf('\n') + 1))
}

/** The event lines of a file that is being written or rotated. */
export function wholeLinesIn(path: string): Line[] {
  try {
    return wholeLines(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
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

/** The log of a producer: the JSON lines on its stderr. The end of what was read may be a part of a line. */
export function logOf(stderr: string): Line[] {
  return stderr
    .split('\n')
    .slice(0, -1)
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)
}

/** Lines of a log with a code. */
export function said(stderr: string, code: string): Line[] {
  return logOf(stderr).filter(line => line['code'] === code)
}
