import type { CopiedJournal } from './copied-journal.js'
import type { Damage } from './damage.js'
import type { Mark } from './line-walk.js'
import { type Base, nearestCheckpoint } from './nearest-checkpoint.js'

/** A checkpoint that the state is to be taken from. */
export interface Rescue {
  readonly base: Base
  /** The last record before the damage: what is not seen happened after it. */
  readonly afterSeq: number
}

/** Finds where a reading that follows the state can have a sound one again: at the next checkpoint behind the damage. */
export class CheckpointResync {
  readonly #journal: CopiedJournal
  readonly #signal: AbortSignal | undefined
  /** Damaged places that were dealt with. */
  #places = 0
  /** Waited for: its lines end further on. */
  #next: Rescue | undefined
  /** No checkpoint is left. */
  #isHopeless = false
  #halted: Mark | undefined

  constructor(journal: CopiedJournal, signal: AbortSignal | undefined) {
    this.#journal = journal
    this.#signal = signal
  }

  /** Whether something is to be done before the line with this record is taken. */
  halts(seq: number, mark: Mark, damage: Damage): boolean {
    const isNew =
      this.#next === undefined ? this.#isDamaged(seq, damage) : !isBefore(mark, this.#next.base.tail)
    if (this.#isHopeless || !isNew || isSame(mark, this.#halted)) return false
    this.#halted = mark
    return true
  }

  /** What is to be done where it halted: the state is taken from a checkpoint, if that is where one ends. */
  async at(seq: number, mark: Mark, damage: Damage): Promise<Rescue | undefined> {
    let rescue: Rescue | undefined
    for (;;) {
      if (this.#next === undefined) {
        // What stands behind the records that lack right before this line covers them too.
        if (rescue !== undefined && rescue.base.document.header.head_seq >= seq - 1) break
        await this.#look(seq, damage)
      }
      if (this.#next === undefined || isBefore(mark, this.#next.base.tail)) break
      rescue = this.#next
      this.#next = undefined
    }
    this.#places = damage.places + (seq > damage.highest + 1 ? 1 : 0)
    return rescue
  }

  async #look(seq: number, damage: Damage): Promise<void> {
    const wanted = { covers: (headSeq: number) => headSeq >= seq - 1, isOldest: true }
    const base = await nearestCheckpoint(this.#journal, wanted, this.#signal)
    if (base === undefined) this.#isHopeless = true
    else this.#next = { base, afterSeq: damage.highest }
  }

  #isDamaged(seq: number, { places, highest }: Damage): boolean {
    return places > this.#places || seq > highest + 1
  }
}

function isBefore(a: Mark, b: Mark): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

function isSame(a: Mark, b: Mark | undefined): boolean {
  return a.segment === b?.segment && a.offset === b.offset
}
