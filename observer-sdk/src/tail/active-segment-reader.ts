/** Holds the newest segment open between two looks. */
import { Buffer } from 'node:buffer'
import type { FileContent } from '../store/file-content.js'
import type { Tip } from './directory.js'

/** Most bytes read ahead: a burst of lines, or the first ones of a large write. */
export const AHEAD_BYTES: number = 64 * 1024

/** Identities of what this process holds: what one reads ahead, the others take from it. */
const heldFiles = new Set<string>()

/** Read into by one reader at a time, which is done with it before another turn begins. */
let scratch: Buffer | undefined

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

  /** What came after this offset; undefined if nothing is held. */
  readAhead(offset: number): Buffer | undefined {
    if (this.#content === undefined) return undefined
    scratch ??= Buffer.allocUnsafeSlow(AHEAD_BYTES)
    const read = this.#content.readOnce(scratch, offset)
    // Memory of its own: consumers are handed the lines in it.
    if (this.#content.failure === undefined) return Buffer.from(scratch.subarray(0, read))
    this.release()
    return undefined
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
