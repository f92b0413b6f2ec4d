import type { Persona } from './persona.js'

/** Has somebody written since? (KS-71) */
export type HasWritten = 'yes' | 'no' | 'unknown'

/** Who wrote, and how late, as the messages in the journal tell. */
export class Authorship {
  readonly #newest: Map<string, number> = new Map()
  /** False while messages of earlier lives are still to be looked at: until then there is no "no". */
  isComplete = false

  /** The newest message of an author, if there is one. */
  newestOf(author: string): number | undefined {
    return this.#newest.get(author)
  }

  saw(author: string, id: number): void {
    const known = this.#newest.get(author)
    if (known === undefined || known < id) this.#newest.set(author, id)
  }

  /** Whether an author wrote anything above an id, as far as these inboxes were observed. */
  hasWrittenSince(author: string, id: number, observed: Iterable<Persona>): HasWritten {
    const newest = this.#newest.get(author)
    if (newest !== undefined && newest > id) return 'yes'
    if (!this.isComplete || this.#newest.size === 0) return 'unknown'
    for (const { image, pin } of observed) {
      if (image === undefined) continue
      if (id < Math.max(image.floor, image.knownFrom ?? 0)) return 'unknown'
      if (pin !== undefined) return 'unknown'
    }
    return 'no'
  }
}
