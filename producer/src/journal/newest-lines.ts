/**
 * Where the newest line of each live entity is. Payloads stay on the disk, so the writer's memory grows with the number of
 * entities and not with their size; it is kept in cells, because an object for each message would be most of that memory.
 */

/** Where a line is. */
export interface StoredLineLocation {
  /** The file that holds it. */
  readonly path: string
  readonly offset: number
  /** Without the `\n`, and without the comma of a checkpoint's line. */
  readonly length: number
}

/** What the writer keeps of a live entity. */
export interface NewestLine extends StoredLineLocation {
  readonly seq: number
  /** True for a message that its persona has read; retention asks. */
  readonly read: boolean
}

/** The cells of a line. */
const SEQ = 0
const OFFSET = 1
const LENGTH = 2
/** Twice the index of its file, and 1 more for a message that was read. */
const FILE = 3
const CELLS = 4

const INITIAL = 128

/** The newest lines, by the numbers that the table of entities keeps as their images. */
export class NewestLines {
  #cells = new Float64Array(INITIAL * CELLS)
  #count = 0
  readonly #free: number[] = []
  readonly #paths: string[] = []
  readonly #fileOf = new Map<string, number>()

  /** Keeps a line in place of the one with the number `before`; returns its number. */
  put({ seq, read, path, offset, length }: NewestLine, before: number | undefined): number {
    const number = before ?? this.#free.pop() ?? this.#count++
    const at = number * CELLS
    if (at >= this.#cells.length) {
      const larger = new Float64Array(this.#cells.length * 2)
      larger.set(this.#cells)
      this.#cells = larger
    }
    this.#cells[at + SEQ] = seq
    this.#cells[at + OFFSET] = offset
    this.#cells[at + LENGTH] = length
    this.#cells[at + FILE] = this.#file(path) * 2 + (read ? 1 : 0)
    return number
  }

  /** A line as it is now. */
  get(number: number): NewestLine {
    const at = number * CELLS
    return {
      seq: this.seqOf(number),
      read: this.isRead(number),
      path: this.#paths[(this.#cells[at + FILE] as number) >>> 1] as string,
      offset: this.#cells[at + OFFSET] as number,
      length: this.#cells[at + LENGTH] as number,
    }
  }

  seqOf(number: number): number {
    return this.#cells[number * CELLS + SEQ] as number
  }

  /** True for a message that its persona has read. */
  isRead(number: number): boolean {
    return (this.#cells[number * CELLS + FILE] as number) % 2 === 1
  }

  /** Its entity is not live any more: the number will be another line's. */
  drop(number: number): void {
    this.#cells[number * CELLS + SEQ] = 0
    this.#free.push(number)
  }

  #file(path: string): number {
    let file = this.#fileOf.get(path)
    if (file === undefined) {
      file = this.#paths.push(path) - 1
      this.#fileOf.set(path, file)
    }
    return file
  }
}
