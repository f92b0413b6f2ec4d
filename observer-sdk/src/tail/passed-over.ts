import { openSegment } from '../store/store-files.js'

/** How many of them one look tries: a store full of damage must not make looking dear. */
const TRIED_PER_LOOK = 2

/** Segments that what follows them was read without. Once one can be read, whatever was derived lacks it. */
export class PassedOver {
  readonly #unreadable = new Set<number>()
  /** Every segment that was listed, and read if it could be. */
  readonly #listed = new Set<number>()
  #newest = 0

  /** Everything is looked at afresh from here on. */
  clear(): void {
    this.#unreadable.clear()
    this.#listed.clear()
    this.#newest = 0
  }

  /** This one is there and cannot be read. */
  unreadable(number: number): void {
    this.#unreadable.add(number)
  }

  /** This one was listed and is gone. */
  gone(number: number): void {
    this.#listed.delete(number)
  }

  /** Whether a segment came between those that are known, behind the newest of them. */
  appeared(segments: readonly { readonly number: number }[]): boolean {
    const { length } = segments.filter(({ number }) => number < this.#newest && !this.#listed.has(number))
    for (const { number } of segments) this.#listed.add(number)
    this.#newest = Math.max(this.#newest, segments.at(-1)?.number ?? 0)
    return length > 0
  }

  /** Whether one that could not be read can be now: tries them in turns. */
  recovered(eventsDir: string): boolean {
    for (const number of [...this.#unreadable].slice(0, TRIED_PER_LOOK)) {
      this.#unreadable.delete(number)
      const opened = openSegment(eventsDir, number)
      if (opened.ok) {
        opened.value.close()
        return true
      }
      this.#unreadable.add(number)
    }
    return false
  }
}
