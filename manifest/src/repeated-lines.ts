import { crc32 } from 'node:zlib'

/** Checksum and length of a line in one number; lines are compared by it only under one seq in one segment. */
export function lineMark(bytes: Uint8Array): number {
  return crc32(bytes) + (bytes.length % 2 ** 21) * 2 ** 32
}

const FIRST_ROOM = 1024

/**
 * Recognises a record whose line repeats an earlier line of its segment byte for byte. It keeps two numbers for each
 * record; records whose numbers do not ascend are rare, and cost more.
 */
export class RepeatedLines {
  #seqs = new Float64Array(FIRST_ROOM)
  #marks = new Float64Array(FIRST_ROOM)
  #count = 0
  readonly #strays = new Map<number, Set<number>>()

  /** Takes the next record that applies; true if the segment already holds its line. */
  isRepeated(seq: number, mark: number): boolean {
    if (this.#count === 0 || seq > (this.#seqs[this.#count - 1] ?? 0)) {
      this.#append(seq, mark)
      return false
    }
    if (this.#ascendingMarkOf(seq) === mark) return true
    const strays = this.#strays.get(seq)
    if (strays === undefined) this.#strays.set(seq, new Set([mark]))
    else if (strays.has(mark)) return true
    else strays.add(mark)
    return false
  }

  #append(seq: number, mark: number): void {
    if (this.#count === this.#seqs.length) {
      this.#seqs = doubled(this.#seqs)
      this.#marks = doubled(this.#marks)
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

function doubled(from: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const to = new Float64Array(from.length * 2)
  to.set(from)
  return to
}
