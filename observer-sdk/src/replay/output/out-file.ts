/** The file that a person asked for: it appears whole, or not at all. */
import { closeSync, constants, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A file on its way. */
export class OutFile {
  readonly #path: string
  readonly #temp: string
  readonly #fd: number

  constructor(path: string) {
    this.#path = path
    this.#temp = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`)
    this.#fd = openSync(this.#temp, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  }

  write(data: Uint8Array | string): void {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#fd, bytes, done)
  }

  /** The file stands under its name. */
  finish(): void {
    closeSync(this.#fd)
    renameSync(this.#temp, this.#path)
  }

  /** Nothing is left of it. */
  abandon(): void {
    closeSync(this.#fd)
    rmSync(this.#temp, { force: true })
  }
}

/** Lets `fill` write the file; what goes wrong leaves what stood under the name before. */
export async function writeOut(path: string, fill: (file: OutFile) => Promise<void>): Promise<void> {
  const file = new OutFile(path)
  let isFilled = false
  try {
    await fill(file)
    isFilled = true
  } finally {
    if (!isFilled) file.abandon()
  }
  file.finish()
}
