import { fstatSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { safeText, usageError } from '@kim/cli-kit'

/** Where an output goes: the file itself, also behind a link, and the mode it has if it is there. */
export interface OutPlace {
  readonly path: string
  readonly mode: number | undefined
}

/** Judges the name of an output. What is no file is refused: it could only be replaced, and nobody means that. */
export function outPlace(name: string): OutPlace {
  if (name === '') throw refusal('is empty')
  if (name === '-')
    throw refusal('cannot be stdout: the report goes there', 'name a file; for a file called "-" write ./-')
  const path = resolve(name)
  const standing = statSync(path, { throwIfNoEntry: false })
  if (standing === undefined) {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw refusal(`${name} is a link to a missing file`)
    const directory = statSync(dirname(path), { throwIfNoEntry: false })
    if (directory?.isDirectory() !== true)
      throw refusal(`${name}: there is no directory ${dirname(path)}`, 'create the directory first')
    return { path, mode: undefined }
  }
  if (!standing.isFile()) throw refusal(`${name} is ${kindOf(standing)}, not a file`)
  if (isPrintedTo(standing))
    throw refusal(`${name} is the file that stdout or stderr writes to`, 'name another file')
  return { path: realpathSync(path), mode: standing.mode & 0o777 }
}

/** Whether it is what a shell lets stdout or stderr go to: all that stands in it, and the report, would be gone. */
function isPrintedTo({ dev, ino }: Stats): boolean {
  return [process.stdout.fd, process.stderr.fd].some(fd => {
    try {
      const printed = fstatSync(fd)
      return printed.dev === dev && printed.ino === ino
    } catch {
      // A stream that is closed goes nowhere.
      return false
    }
  })
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory'
  if (stats.isFIFO()) return 'a pipe'
  return stats.isSocket() ? 'a socket' : 'a device'
}

function refusal(why: string, hint = 'name a regular file; it is written whole or not at all'): Error {
  return usageError(`--out ${safeText(why)}`, hint)
}
