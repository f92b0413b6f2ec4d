import { type FileContent, openSegment } from '../store/file-content.js'

/** Segments that what follows them was read without. Once one can be read, whatever was derived lacks it. */
export class PassedOver {
  /** What stood there when it could not be read, where that can be told. */
  readonly #unreadable = new Map<number, string | undefined>()
  /** Every segment that was listed, and read if it could be. */
  readonly #listed = new Set<number>()
  #newest = 0

  /** Everything is looked at afresh from here on. */
  clear(): void {
    this.#unreadable.clear()
    this.#listed.clear()
    this.#newest = 0
  }

  /** This one is there and cannot be read, or only a copy of it can. */
  unreadable(number: number, content?: FileContent): void {
    this.#unreadable.set(number, content && stampOf(content))
  }

  /** This one was listed and is gone. */
  gone(number: number): void {
    this.#listed.delete(number)
  }

  /** Whether a segment came between those that are known, behind the newest of them. `isRead`: of those that went. */
  appeared(segments: readonly { readonly number: number }[], isRead: (number: number) => boolean): boolean {
    const there = new Set(segments.map(({ number }) => number))
    for (const number of this.#listed) if (!there.has(number) && !isRead(number)) this.#listed.delete(number)
    const { length } = segments.filter(({ number }) => number < this.#newest && !this.#listed.has(number))
    for (const { number } of segments) this.#listed.add(number)
    this.#newest = Math.max(this.#newest, segments.at(-1)?.number ?? 0)
    return length > 0
  }

  /** Whether one that could not be read is different now. One a look: a store full of damage must not make it dear. */
  recovered(eventsDir: string): boolean {
    const [tried] = this.#unreadable
    if (tried === undefined) return false
    const [number, stamp] = tried
    this.#unreadable.delete(number)
    const opened = openSegment(eventsDir, number)
    if (!opened.ok) {
      if (opened.reason === 'absent') return true
      this.#unreadable.set(number, stamp)
      return false
    }
    const now = stampOf(opened.value)
    opened.value.close()
    if (now !== stamp) return true
    this.#unreadable.set(number, stamp)
    return false
  }
}

/** The same value as long as the same thing is read in the same place. */
function stampOf({ candidate, identity, storedBytes }: FileContent): string {
  // A live segment grows while it cannot be read to its end, which makes it no other.
  return `${candidate.path} ${identity} ${candidate.gzip ? storedBytes : ''}`
}
