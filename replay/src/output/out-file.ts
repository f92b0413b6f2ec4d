/** The file that a person asked for: it appears whole, or not at all. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { safeText, usageError } from '@kim/cli-kit'

/** A file on its way. */
export interface OutFile {
  readonly write: (data: Uint8Array | string) => void
}

/** Lets `fill` write the file; what goes wrong leaves what stood under the name before. */
export async function writeOut(name: string, fill: (file: OutFile) => Promise<void>): Promise<void> {
  const { path, mode } = outPlace(name)
  const temp = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`)
  const fd = openSync(temp, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  let isOpen = true
  const close = (): void => {
    if (isOpen) closeSync(fd)
    isOpen = false
  }
  try {
    if (mode !== undefined) fchmodSync(fd, mode)
    await fill({
      write(data) {
        const bytes = typeof data === 'string' ? Buffer.from(data) : data
        for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
      },
    })
    close()
    renameSync(temp, path)
  } catch (error) {
    close()
    rmSync(temp, { force: true })
    throw error
  }
}

/** Where an output goes: the file itself, also behind a link, and the mode it has if it is there. */
export interface OutPlace {
  readonly path: string
  readonly mode: number | undefined
}

/** Judges the name of an output. What exists and is no file is refused: replacing it would destroy it. */
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
