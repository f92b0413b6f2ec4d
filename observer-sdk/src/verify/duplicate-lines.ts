import { crc32 } from 'node:zlib'

/** Checksum and length of a line in one number. */
export function lineMark(bytes: Uint8Array): number {
  return crc32(bytes) + (bytes.length % 2 ** 21) * 2 ** 32
}

const FIRST_ROOM = 1024

/**
 * Recognises records that repeat the line of an earlier record of their segment byte for byte. Two numbers a line are
 * kept while a segment is read; numbers that do not ascend are rare, and cost more.
 */
export class DuplicateLines {
  #seqs = new Float64Array(FIRST_ROOM)
  #marks = new Float64Array(FIRST_ROOM)
  #count = 0
  #others = new Map<number, Set<number>>()

  /** The records that follow are those of another segment. */
  beginSegment(): void {
    this.#count = 0
    this.#others = new Map()
  }

  /** Takes a record that applies; true if the segment holds its line already. Marks are compared under one seq. */
  isRepeated(seq: number, mark: number): boolean {
    if (this.#count === 0 || seq > (this.#seqs[this.#count - 1] ?? 0)) {
      this.#append(seq, mark)
      return false
    }
    if (this.#ascendingMarkOf(seq) === mark) return true
    const others = this.#others.get(seq)
    if (others === undefined) this.#others.set(seq, new Set([mark]))
    else if (others.has(mark)) return true
    else others.add(mark)
    return false
  }

  #append(seq: number, mark: number): void {
    if (this.#count === this.#seqs.length) {
      this.#seqs = grown(this.#seqs)
      this.#marks = grown(this.#marks)
    }
    this.#seqs[this.#count] = seq
    this.#marks[this.#count] = mark
    this.#count += 1
  }

  #ascendingMarkOf(seq: number): number | undefined {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#seqs[middle] ?? 0) < seq) low = middle + 1
      else high = middle
    }
    return low < this.#count && this.#seqs[low] === seq ? this.#marks[low] : undefined
  }
}

function grown(from: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const to = new Float64Array(from.length * 2)
  to.set(from)
  return to
}
