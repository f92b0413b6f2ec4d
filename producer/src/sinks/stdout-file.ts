import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'

const LF = 0x0a

/**
 * Stdout where it leads to a file. It takes all of a text or says why not, whereas a stream would never be asked again
 * after it said so; and a line that a full disk cut is ended before the next one begins, as the rest of it comes anew.
 */
export class StdoutFile {
  readonly #fd: number
  readonly #write: typeof writeSync
  #isTorn: boolean

  constructor(fd: number, write: typeof writeSync = writeSync) {
    this.#fd = fd
    this.#write = write
    this.#isTorn = endsInsideLine(fd)
  }

  /** Throws what the system says. */
  append(text: string): void {
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${text}`)
    for (let done = 0; done < bytes.length; ) {
      done += this.#write(this.#fd, bytes, done)
      this.#isTorn = bytes[done - 1] !== LF
    }
  }
}

/** What an earlier life left. The descriptor may be for writing alone; where it cannot be read anew, nobody knows. */
function endsInsideLine(fd: number): boolean {
  const { size } = fstatSync(fd)
  if (size === 0) return false
  const last = Buffer.alloc(1)
  try {
    const reader = openSync(`/proc/self/fd/${fd}`, 'r')
    try {
      return readSync(reader, last, 0, 1, size - 1) === 1 && last[0] !== LF
    } finally {
      closeSync(reader)
    }
  } catch {
    return false
  }
}
