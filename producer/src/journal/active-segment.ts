import { createHash, type Hash } from 'node:crypto'
import { segmentName } from '@kim/manifest'
import type { FileStat } from '../effects/file-system.js'
import { fenced } from './failure.js'
import type { Disk } from './file-ops.js'
import type { Sealed } from './segment-scan.js'
import type { StoreFile } from './store-file.js'

/** The segment that is appended to: its descriptor, and what this process knows of its bytes. */
export class ActiveSegment {
  readonly number: number
  readonly file: StoreFile
  /** How long the file is, as far as this process wrote or read it. */
  length = 0
  /** The hash of those bytes, for the seal. */
  hash: Hash = createHash('sha256')
  /** First and highest seq of the valid records in it; 0 while there is none. */
  firstSeq = 0
  lastSeq = 0
  /** The highest seq of any line in it, those of later versions included: what follows must be above it. */
  highest = 0
  readonly #disk: Disk
  readonly #fd: number
  readonly #own: FileStat
  #open = true

  constructor(disk: Disk, number: number, path: string, fresh: boolean) {
    const { fd, stat } = disk.openAppend(path, fresh)
    this.#disk = disk
    this.#fd = fd
    this.#own = stat
    this.number = number
    this.file = { path }
  }

  get path(): string {
    return this.file.path
  }

  /**
   * Throws unless the path still leads to this file and nobody else wrote to it. After a write that failed the
   * file may be longer than what is known of it, never shorter.
   */
  fence(checkLength: boolean): void {
    const found = this.#disk.look(this.path)
    if (found === undefined) throw fenced(`${this.path} is missing`)
    if (found.ino !== this.#own.ino || found.dev !== this.#own.dev) throw fenced(`${this.path} was replaced`)
    if (checkLength ? found.size !== this.length : found.size < this.length) {
      throw fenced(`${this.path} has ${found.size} bytes, but this process wrote ${this.length}`)
    }
  }

  /** One write. After a failure it is unknown how much of it the file took; `length` stays. */
  write(bytes: Uint8Array): void {
    this.#disk.write(this.#fd, bytes, this.path)
  }

  sync(): void {
    this.#disk.syncData(this.#fd, this.path)
  }

  /** Takes over bytes that are now known to be in the file. */
  advance(bytes: Uint8Array): void {
    this.length += bytes.length
    this.hash.update(bytes)
  }

  /** The segment as its seal will state it. */
  get sealed(): Sealed {
    return {
      segment: segmentName(this.number),
      bytes: this.length,
      sha256: this.hash.copy().digest('hex'),
      first_seq: this.firstSeq,
      last_seq: this.lastSeq,
    }
  }

  /** Takes over what a scan of the file found. */
  adopt(bytes: number, hash: Hash): void {
    this.length = bytes
    this.hash = hash
  }

  /** It holds a valid record with this seq. */
  see(seq: number): void {
    if (this.firstSeq === 0) this.firstSeq = seq
    if (seq > this.lastSeq) this.lastSeq = seq
    this.pass(seq)
  }

  /** It holds a line with this seq that is no record of this version. */
  pass(seq: number): void {
    if (seq > this.highest) this.highest = seq
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#disk.close(this.#fd)
  }
}
