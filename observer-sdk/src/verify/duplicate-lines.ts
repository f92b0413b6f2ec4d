import { crc32 } from 'node:zlib'

/** Checksum and length of a line in one number. */
export function lineMark(bytes: Uint8Array): number {
  return crc32(bytes) + (bytes.length % 2 ** 21) * 2 ** 32
}

/** Recognises records that repeat the line of an earlier record of their segment byte for byte. */
export class DuplicateLines {
  #marks = new Map<number, number | number[]>()

  /** The records that follow are those of another segment. */
  beginSegment(): void {
    this.#marks = new Map()
  }

  /** Takes a record that applies; true if the segment holds its line already. Marks are compared under one seq. */
  isRepeated(seq: number, mark: number): boolean {
    const known = this.#marks.get(seq)
    if (known === undefined) this.#marks.set(seq, mark)
    else if (known === mark || (Array.isArray(known) && known.includes(mark))) return true
    else this.#marks.set(seq, [...[known].flat(), mark])
    return false
  }
}
