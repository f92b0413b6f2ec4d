/** Holds the newest segment open between two looks. */
import { Buffer } from 'node:buffer'
import type { FileContent } from '../store/file-content.js'
import type { Tip } from './directory.js'

/** Most bytes read ahead: a burst of lines, or the first ones of a large write. */
const AHEAD_BYTES = 64 * 1024
/** Fewest. */
const AHEAD_BYTES_MIN = 16 * 1024

/** Identities of what this process holds: what one reads ahead, the others take from it. */
const heldFiles = new Set<string>()

/** What is read into next. No byte of it is used twice, because consumers may keep the lines that they get. */
let unused: Buffer = Buffer.alloc(0)

/**
 * The segment that is appended to, held open between two looks: opening it again would cost more than reading what
 * came. Its name is looked at each time all the same, and the file is released if it no longer has that name.
 */
export class ActiveSegmentReader {
  #number: number | undefined
  #content: FileContent | undefined

  /** Whether it is this segment that is held. */
  isOf(number: number): boolean {
    return number === this.#number
  }

  /** What is held, as long as it is now; undefined if the name is another file's now. */
  lend(now: Pick<Tip, 'identity' | 'size'> | undefined): FileContent | undefined {
    if (now?.identity !== this.#content?.identity) this.release()
    return now && this.#content?.atLength(now.size)
  }

  /** Holds what was opened, in place of what was held before; closes it if another observer holds that file. */
  hold(number: number, content: FileContent): void {
    this.release()
    if (heldFiles.has(content.identity)) {
      content.close()
      return
    }
    heldFiles.add(content.identity)
    this.#number = number
    this.#content = content
  }

  /** Whether this is what is held, at whatever length. */
  owns(content: FileContent): boolean {
    return this.#content?.isSameOpenFile(content) === true
  }

  /** What came after this offset, and whether more may have come; undefined if nothing is held. */
  readAhead(offset: number): { readonly bytes: Buffer; readonly isLonger: boolean } | undefined {
    if (this.#content === undefined) return undefined
    if (unused.length < AHEAD_BYTES_MIN) unused = Buffer.allocUnsafeSlow(AHEAD_BYTES)
    const read = this.#content.readOnce(unused, offset)
    if (this.#content.failure !== undefined) {
      this.release()
      return undefined
    }
    const bytes = unused.subarray(0, read)
    unused = unused.subarray(read)
    return { bytes, isLonger: unused.length === 0 }
  }

  /** Releases it unless this is still what is held. */
  check(tip: Tip | undefined): void {
    if (tip?.number !== this.#number || tip?.identity !== this.#content?.identity) this.release()
  }

  release(): void {
    if (this.#content !== undefined) heldFiles.delete(this.#content.identity)
    this.#content?.close()
    this.#content = undefined
    this.#number = undefined
  }
}
