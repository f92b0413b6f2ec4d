/** Where a question about the state begins to be answered with yes. */
import { segmentName } from '@kim/manifest'
import type { PassOptions } from '@kim/observer-sdk/verify'
import { CheckpointResync, type Rescue } from './checkpoint-resync.js'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { type Mark, walkLines } from './line-walk.js'
import { nearestCheckpoint, startFrom } from './nearest-checkpoint.js'
import { Payloads } from './payloads.js'
import { PersonaLedger } from './persona-ledger.js'
import type { Predicate } from './predicate/predicate.js'
import type { PredicateScope } from './predicate/predicate-scope.js'
import { UnknownNames } from './predicate/unknown-names.js'
import { type Applied, Reading } from './reading.js'
import { paceFrom } from './state-at.js'

/** A record, as far as an answer names it. */
export interface TurningPoint {
  readonly seq: number
  readonly ts: string | null
  readonly segment: string
  readonly offset: number
  readonly action: string
  readonly item_type: string
  readonly item_id: string | null
  /** A checkpoint shows it, for the records that did it are lost: they stood after this one. Else null. */
  readonly after_seq: number | null
}

/** A stretch of records after which it held. */
export interface Stretch {
  /** With this record it turned true; null if it held before the first one that was read. */
  readonly from: TurningPoint | null
  /** With this record it turned false; null if it did not, or nobody asked how long it held. */
  readonly until: TurningPoint | null
}

/** What a search found. */
export interface FindResult {
  readonly found: readonly Stretch[]
  /** How often it turned true, also beyond what is listed. */
  readonly times: number
  /** The checkpoint that stands in for what is gone. */
  readonly base: { readonly file: string; readonly head_seq: number } | null
  readonly records: number
  readonly last_seq: number | null
  readonly missing: Missing
}

/** Stretches that are listed; more are counted. */
const LISTED_MAX = 100_000

/** Asks after each record; `all` goes on after the first yes. Throws `no_persona` if it asks about nobody. */
export async function findTurns(
  journal: CopiedJournal,
  predicate: Predicate,
  all: boolean,
  options: PassOptions,
): Promise<FindResult> {
  // Where history begins late, the oldest checkpoint that reaches to it is the beginning.
  const base =
    journal.first > 1
      ? await nearestCheckpoint(
          journal,
          { covers: headSeq => headSeq >= journal.first - 1, isOldest: true },
          options.signal,
        )
      : undefined
  const start = startFrom(base, journal)
  const payloads = new Payloads(journal.eventsDir)
  const search = new Search(predicate, all)
  const recovery = new CheckpointResync(journal, options.signal)
  let haltedAt: number | undefined
  let isAnswered = false
  /** While a checkpoint is asked: the last record that it covers. */
  let asOf: number | undefined
  const reading: Reading = new Reading(start, {
    halts: (record, mark) => {
      if (isAnswered || !recovery.halts(record.seq, mark, reading.damage)) return false
      haltedAt = record.seq
      return true
    },
    applied: ({ record, effect, before }) => {
      const { item_type, item_id } = record
      search.unseen.record(record, effect)
      if (item_id === undefined) return
      const after = reading.entities.get(item_type, item_id)
      if (after !== before) ledger.change(before, after)
    },
    isBeyond: () => isAnswered,
    settled: last => search.take(world, () => turnOf(last)),
  })
  let ledger = new PersonaLedger(payloads, reading.entities.images())
  const world: PredicateScope = {
    get entities() {
      return reading.entities
    },
    get ledger() {
      return ledger
    },
    payloads,
    get registryAuthoritative() {
      return reading.registryAuthoritative
    },
    get damage() {
      return reading.damage.places
    },
    get seq() {
      return asOf ?? reading.last?.seq ?? base?.document.header.head_seq ?? null
    },
    get ts() {
      return asOf === undefined ? (reading.last?.ts ?? null) : null
    },
  }
  if (base === undefined && journal.first > 1) reading.damage.startsAt(journal.first)
  let mark = base?.tail
  const isOpen = search.begin(world)
  while (isOpen) {
    haltedAt = undefined
    await walkLines(journal, reading, paceFrom(journal, mark, options), mark)
    mark = reading.stoppedAt
    if (haltedAt === undefined || mark === undefined) break
    const rescue = await recovery.at(haltedAt, mark, reading.damage)
    reading.goOn(rescue === undefined ? undefined : startFrom(rescue.base, journal))
    if (rescue === undefined) continue
    ledger = new PersonaLedger(payloads, reading.entities.images())
    search.unseen.begin(world)
    const place = mark
    asOf = rescue.base.document.header.head_seq
    // Where that is the answer, what lacks before it has still to be told.
    isAnswered = !search.take(world, () => rescueTurn(rescue, place))
    asOf = undefined
  }
  const missing = reading.damage.close(journal, payloads.faults)
  if (search.times === 0) search.unseen.refuse(world, missing)
  return {
    found: search.found,
    times: search.times,
    base: base === undefined ? null : { file: base.document.name, head_seq: base.document.header.head_seq },
    records: reading.records,
    last_seq: reading.last?.seq ?? null,
    missing,
  }
}

class Search {
  readonly found: Stretch[] = []
  readonly unseen: UnknownNames
  times = 0
  readonly #predicate: Predicate
  readonly #all: boolean
  #holds = false

  constructor(predicate: Predicate, all: boolean) {
    this.#predicate = predicate
    this.#all = all
    this.unseen = new UnknownNames(predicate.asked)
  }

  /** Asks before the first record; false if that is the answer. */
  begin(world: PredicateScope): boolean {
    this.unseen.begin(world)
    this.#holds = this.#predicate.holds(world)
    if (this.#holds) this.#open(null)
    return !this.#holds || this.#all
  }

  /** Asks again; false if that is the answer. */
  take(world: PredicateScope, turn: () => TurningPoint): boolean {
    this.unseen.look(world)
    const holds = this.#predicate.holds(world)
    if (holds === this.#holds) return true
    this.#holds = holds
    if (holds) this.#open(turn())
    else if (this.found.length === this.times) this.#close(turn())
    return !holds || this.#all
  }

  #open(from: TurningPoint | null): void {
    this.times += 1
    if (this.found.length < LISTED_MAX) this.found.push({ from, until: null })
  }

  #close(until: TurningPoint): void {
    const open = this.found.pop()
    if (open !== undefined) this.found.push({ from: open.from, until })
  }
}

/** A record as an answer names it. */
function turnOf({ record, place }: Pick<Applied, 'record' | 'place'>): TurningPoint {
  const { seq, ts, action, item_type, item_id } = record
  const { segment, offset } = place
  return {
    seq,
    ts: ts ?? null,
    segment,
    offset,
    action,
    item_type,
    item_id: item_id ?? null,
    after_seq: null,
  }
}

/** What a checkpoint shows, as an answer names it: by the last record that it covers. */
function rescueTurn({ base, afterSeq }: Rescue, { segment, offset }: Mark): TurningPoint {
  const { name, header } = base.document
  return {
    ...{ seq: header.head_seq, ts: null, segment: segmentName(segment), offset },
    ...{ action: 'checkpoint', item_type: 'journal', item_id: name, after_seq: afterSeq },
  }
}
