import type { Draft, StoredState } from '@kim/producer/internal'
import type { Prng } from '../kit/index.js'
import type { Drafts } from './drafts.js'
import type { Flight } from './flight.js'
import type { OutcomeName } from './outcome.js'

const padding = 'p'.repeat(60_000)

/**
 * Those who ask a journal for something, and what they know of what became of it. To a journal they are one:
 * whoever is told that it moved derives anew whatever was refused.
 */
export class Callers {
  readonly #random: Prng
  readonly #drafts: Drafts
  /** What a full disk refused, and nobody asked for again yet. */
  #refused: Flight[] = []
  #commits = 0

  constructor(random: Prng, drafts: Drafts) {
    this.#random = random
    this.#drafts = drafts
  }

  /** One batch. */
  one(records: number, tx: boolean, keyed: boolean, wallMs: number): Flight {
    return this.#flight(records, tx, keyed, wallMs, ++this.#commits)
  }

  /** A few small batches in one turn. */
  few(keyed: boolean, wallMs: number): Flight[] {
    const random = this.#random
    const commit = ++this.#commits
    return Array.from({ length: random.between(2, 4) }, () =>
      this.#flight(random.between(1, 3), random.chance(0.3), keyed, wallMs, commit),
    )
  }

  /** More than one commit takes in one turn. */
  flood(keyed: boolean, wallMs: number): Flight[] {
    const random = this.#random
    const commit = ++this.#commits
    return Array.from({ length: random.between(2, 3) }, () => {
      const flight = this.#flight(random.between(9, 14), random.chance(0.3), keyed, wallMs, commit)
      return { ...flight, drafts: flight.drafts.map(padded) }
    })
  }

  /** What was refused is asked for once more as it was, but for messages that retention took meanwhile (JF-81). */
  again(wallMs: number, state: StoredState): Flight[] {
    const all = this.#refused.splice(0)
    const refused = all.filter(flight => !isMoot(flight, all, state))
    if (refused.length === 0) return []
    const commit = ++this.#commits
    const again = refused.map((before): Flight => {
      return { ...before, commit, wallMs, fate: 'open', receipt: undefined, before }
    })
    // Others may ask in the same turn.
    if (this.#random.chance(0.5)) return again
    const other = this.#flight(1, false, true, wallMs, commit)
    return this.#random.chance(0.5) ? [...again, other] : [other, ...again]
  }

  /** What stands now does not stand from the first time. */
  gotReceipt({ before }: Flight): void {
    for (let at = before; at !== undefined; at = at.before) at.fate = 'moved'
  }

  /** Whoever drafts with keys may always ask again; of the others it is known what they must be told. */
  wereRefused(flight: Flight, outcome: OutcomeName): void {
    if (outcome === 'full' && flight.drafts.some(({ key }) => key === undefined)) this.#refused.push(flight)
  }

  /** What was refused is derived anew, or nobody is left who remembers it. */
  forget(): void {
    this.#refused = []
  }

  #flight(records: number, tx: boolean, keyed: boolean, wallMs: number, commit: number): Flight {
    const drafts = Array.from({ length: records }, () => this.#drafts.next(keyed))
    const marks = drafts.map(({ summary }) => Number(summary.slice(1)))
    return { drafts, marks, tx, commit, wallMs, fate: 'open', receipt: undefined }
  }
}

/** Whether a batch changes a message that was live when it was drafted, and is not now; asks nothing of the disk. */
function isMoot({ drafts }: Flight, refused: readonly Flight[], state: StoredState): boolean {
  const creates = (name: string): boolean =>
    refused.some(flight =>
      flight.drafts.some(({ action, item_id }) => action === 'create' && item_id === name),
    )
  return drafts.some(
    ({ action, item_type: type, item_id: id }) =>
      type === 'message' && action !== 'create' && !state.has(type, id) && !creates(id),
  )
}

function padded(draft: Draft): Draft {
  return draft.payload === undefined ? draft : { ...draft, payload: { ...draft.payload, padding } }
}
