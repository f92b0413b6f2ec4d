import { utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tempName } from '@kim/manifest'
import { nodeFileSystem } from '../effects/file-system.js'
import { isNoSpace } from '../journal/failure.js'
import { Disk } from '../journal/file-ops.js'

/**
 * A small file in `run/` that is replaced whole, for readers that look at its age. Losing it costs nothing, so
 * nothing that happens to it may end the service.
 */
export class StatusFile {
  readonly #path: string
  readonly #temp: string
  readonly #disk: Disk

  constructor(path: string, uid: number | undefined) {
    this.#path = path
    this.#temp = join(dirname(path), tempName(path.slice(dirname(path).length + 1)))
    this.#disk = new Disk(nodeFileSystem, uid, {}, () => undefined)
  }

  /** Replaces the file. Where there is no space the old one is made young: the process is alive all the same. */
  replace(text: string): void {
    try {
      this.#disk.writeLoosely(this.#temp, this.#path, Buffer.from(text))
    } catch (error) {
      if (isNoSpace(error)) this.#touch()
    }
  }

  #touch(): void {
    try {
      const now = new Date()
      utimesSync(this.#path, now, now)
    } catch {
      // There never was one.
    }
  }
}
