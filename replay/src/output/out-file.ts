/** The file that a person asked for: it appears whole, or not at all. */
import { closeSync, constants, fchmodSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { outPlace } from './out-place.js'

/** A file on its way. */
export class OutFile {
  readonly #path: string
  readonly #temp: string
  readonly #fd: number
  #isOpen = true

  constructor(name: string) {
    const { path, mode } = outPlace(name)
    this.#path = path
    this.#temp = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`)
    this.#fd = openSync(this.#temp, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    if (mode !== undefined) fchmodSync(this.#fd, mode)
  }

  write(data: Uint8Array | string): void {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done)
  }

  /** The file stands under its name. */
  finish(): void {
    this.#close()
    renameSync(this.#temp, this.#path)
  }

  /** Nothing is left of it. */
  abandon(): void {
    this.#close()
    rmSync(this.#temp, { force: true })
  }

  #close(): void {
    if (this.#isOpen) closeSync(this.#fd)
    this.#isOpen = false
  }
}

/** Lets `fill` write the file; what goes wrong leaves what stood under the name before. */
export async function writeOut(path: string, fill: (file: OutFile) => Promise<void>): Promise<void> {
  const file = new OutFile(path)
  let isDone = false
  try {
    await fill(file)
    file.finish()
    isDone = true
  } finally {
    if (!isDone) file.abandon()
  }
}
