/** Where a condition over the state begins to be true. */
import { actionClasses, alertKinds, type Effect, type ReadRecord, segmentName } from '@kim/manifest'
import type { JournalCopy, JournalPoint, PassControl, RangeVerdict } from '@kim/observer-sdk/verify'
import { unknownAlertKind, unknownPersona, unknownType } from './not-found.js'
import { Payloads } from './payloads.js'
import { PersonaLedger } from './personas.js'
import type { AskedNames, Predicate, PredicateScope } from './predicate/predicate.js'
import { type Applied, type Base, nearestCheckpoint, Reading, startOf } from './reading.js'

/** A record, as far as an answer names it. */
export interface TurningPoint {
  readonly seq: number
  readonly ts: string | null
  readonly segment: string
  readonly offset: number
  readonly action: string
  readonly item_type: string
  readonly item_id: string | null
  /** A checkpoint shows it, because the records that did it are lost: they came after this one. Otherwise null. */
  readonly after_seq: number | null
}

/** A stretch of records after which it was true. */
export interface Stretch {
  /** With this record it became true; null if it was before the first one that was read. */
  readonly from: TurningPoint | null
  /** With this record it became false; null if it did not, or if only the first record was asked for. */
  readonly until: TurningPoint | null
}

/** What a search found. */
export interface FindResult {
  readonly found: readonly Stretch[]
  /** How often it became true, also beyond what is listed. */
  readonly times: number
  /** The checkpoint that stands in for records that are missing at the beginning. */
  readonly base: { readonly file: string; readonly head_seq: number } | null
  readonly records: number
  readonly last_seq: number | null
  readonly missing: RangeVerdict
}

/** Stretches that are listed; more are counted. */
const LISTED_MAX = 100_000

/** Asks after each record; `all` goes on after the first yes. Throws `no_persona` if it asks about no known persona. */
export async function findTurns(
  history: JournalCopy,
  predicate: Predicate,
  all: boolean,
  control: PassControl = {},
): Promise<FindResult> {
  const first = history.first?.number ?? 1
  // If history begins late, the oldest checkpoint that reaches to it is the beginning.
  const wanted = { covers: (headSeq: number) => headSeq >= first - 1, isOldest: true }
  const base = first > 1 ? await nearestCheckpoint(history, wanted, control.signal) : undefined
  const payloads = new Payloads(history.eventsDir)
  const search = new Search(predicate, all)
  const recovery = new CheckpointResync(history, control.signal)
  let haltedAt: number | undefined
  let isAnswered = false
  /** While a checkpoint is asked: the last record that it covers. */
  let asOf: number | undefined
  const reading: Reading = new Reading(startOf(history, base), {
    halts: (record, mark) => {
      if (isAnswered || !recovery.halts(record.seq, mark, reading)) return false
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
    settled: last => search.take(scopeNow(), () => turnOf(last)),
  })
  let ledger = new PersonaLedger(payloads, reading.entities.images())
  const scopeNow = (): PredicateScope => ({
    entities: reading.entities,
    ledger,
    payloads,
    registryAuthoritative: reading.registryAuthoritative,
    damage: reading.places,
    seq: asOf ?? reading.last?.seq ?? base?.document.header.head_seq ?? null,
    ts: asOf === undefined ? (reading.last?.ts ?? null) : null,
  })
  let mark = base?.tail
  const isOpen = search.begin(scopeNow())
  while (isOpen) {
    haltedAt = undefined
    await history.walk(reading, control, mark)
    mark = reading.stoppedAt
    if (haltedAt === undefined || mark === undefined) break
    const rescue = await recovery.at(haltedAt, mark, reading)
    reading.goOn(rescue === undefined ? undefined : startOf(history, rescue.base))
    if (rescue === undefined) continue
    ledger = new PersonaLedger(payloads, reading.entities.images())
    search.unseen.begin(scopeNow())
    const place = mark
    asOf = rescue.base.document.header.head_seq
    // If that is the answer, what is missing before it has still to be reported.
    isAnswered = !search.take(scopeNow(), () => rescueTurn(rescue, place))
    asOf = undefined
  }
  const missing = reading.close(payloads)
  if (search.times === 0) search.unseen.refuse(scopeNow(), missing)
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
  begin(scope: PredicateScope): boolean {
    this.unseen.begin(scope)
    this.#holds = this.#predicate.holds(scope)
    if (this.#holds) this.#open(null)
    return !this.#holds || this.#all
  }

  /** Asks again; false if that is the answer. */
  take(scope: PredicateScope, turn: () => TurningPoint): boolean {
    this.unseen.look(scope)
    const holds = this.#predicate.holds(scope)
    if (holds === this.#holds) return true
    this.#holds = holds
    if (holds) this.#open(turn())
    else if (this.found.length === this.times)
      this.found.push({ from: this.found.pop()?.from ?? null, until: turn() })
    return !holds || this.#all
  }

  #open(from: TurningPoint | null): void {
    this.times += 1
    if (this.found.length < LISTED_MAX) this.found.push({ from, until: null })
  }
}

/** A record as an answer names it. */
function turnOf({ record, segment, offset }: Applied): TurningPoint {
  const { seq, ts = null, action, item_type, item_id = null } = record
  return { seq, ts, segment, offset, action, item_type, item_id, after_seq: null }
}

/** What a checkpoint shows, as an answer names it: by the last record that it covers. */
function rescueTurn({ base, afterSeq }: Rescue, { segment, offset }: JournalPoint): TurningPoint {
  const { name, header } = base.document
  return {
    ...{ seq: header.head_seq, ts: null, segment: segmentName(segment), offset },
    ...{ action: 'checkpoint', item_type: 'journal', item_id: name, after_seq: afterSeq },
  }
}

/** A checkpoint to take the state from. */
interface Rescue {
  readonly base: Base
  /** The last record before the damage: what no record shows happened after it. */
  readonly afterSeq: number
}

/** Finds where a reading can have a sound state again after damage: at the next checkpoint behind it. */
class CheckpointResync {
  readonly #history: JournalCopy
  readonly #signal: AbortSignal | undefined
  /** Damaged places that were dealt with. */
  #places = 0
  /** The reading has not come to the end of its lines yet. */
  #next: Rescue | undefined
  /** No checkpoint is left. */
  #isHopeless = false
  #halted: JournalPoint | undefined

  constructor(history: JournalCopy, signal: AbortSignal | undefined) {
    this.#history = history
    this.#signal = signal
  }

  /** Whether there is something to do before the line with this record is taken. */
  halts(seq: number, mark: JournalPoint, { places, damage }: Reading): boolean {
    const isNew =
      this.#next === undefined
        ? places > this.#places || seq > damage.highest + 1
        : !isBefore(mark, this.#next.base.tail)
    const halted = this.#halted
    const isSame = mark.segment === halted?.segment && mark.offset === halted.offset
    if (this.#isHopeless || !isNew || isSame) return false
    this.#halted = mark
    return true
  }

  /** What to do where it halted: take the state from a checkpoint, if one ends there. */
  async at(seq: number, mark: JournalPoint, { places, damage }: Reading): Promise<Rescue | undefined> {
    let rescue: Rescue | undefined
    for (;;) {
      if (this.#next === undefined) {
        // What is behind the records that are missing right before this line covers them too.
        if (rescue !== undefined && rescue.base.document.header.head_seq >= seq - 1) break
        const wanted = { covers: (headSeq: number) => headSeq >= seq - 1, isOldest: true }
        const base = await nearestCheckpoint(this.#history, wanted, this.#signal)
        if (base === undefined) this.#isHopeless = true
        else this.#next = { base, afterSeq: damage.highest }
      }
      if (this.#next === undefined || isBefore(mark, this.#next.base.tail)) break
      rescue = this.#next
      this.#next = undefined
    }
    this.#places = places + (seq > damage.highest + 1 ? 1 : 0)
    return rescue
  }
}

function isBefore(a: JournalPoint, b: JournalPoint): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

const TYPES: ReadonlySet<string> = new Set([
  ...Object.keys(actionClasses.item_types),
  ...Object.keys(actionClasses.item_type_aliases),
])

/** What an expression asks about and the journal has not shown so far. Types and kinds that always exist count as shown. */
class UnknownNames {
  readonly #personas: Set<string>
  readonly #types: Set<string>
  readonly #alertKinds: Set<string>
  /** The types of entities that the journal contained at some time, while an unknown type is asked about. */
  readonly #held = new Set<string>()

  constructor({ personas, types, alertKinds: kinds }: Readonly<AskedNames>) {
    this.#personas = new Set(personas)
    this.#types = new Set([...types].filter(type => !TYPES.has(type)))
    this.#alertKinds = new Set([...kinds].filter(kind => !alertKinds.has(kind)))
  }

  /** Looks at a state that was not read record by record. */
  begin(scope: PredicateScope): void {
    this.look(scope)
    for (const { item_type, item_id } of scope.entities.images()) this.#entity(item_type, item_id)
  }

  /** Looks at a record that had its effect. */
  record({ item_type, item_id = '' }: ReadRecord, effect: Effect): void {
    if (this.#types.size + this.#alertKinds.size === 0) return
    if (effect === 'upsert') this.#entity(item_type, item_id)
    else this.#item(item_type, item_id)
  }

  /** Looks at the personas that the state knows by now. */
  look({ ledger }: PredicateScope): void {
    for (const name of this.#personas) if (ledger.get(name) !== undefined) this.#personas.delete(name)
  }

  /** Throws if the journal knows nothing of what was asked about: a typing error, or it is in what the journal lacks. */
  refuse({ ledger }: PredicateScope, missing: RangeVerdict): void {
    for (const name of this.#personas) throw unknownPersona(name, ledger.everybody, missing)
    for (const type of this.#types) throw unknownType(type, this.#held, TYPES, missing)
    for (const kind of this.#alertKinds) throw unknownAlertKind(kind, alertKinds.keys(), missing)
  }

  #entity(type: string, id: string): void {
    this.#held.add(type)
    this.#item(type, id)
  }

  #item(type: string, id: string): void {
    this.#types.delete(type)
    if (type === 'alert') this.#alertKinds.delete(id.slice(id.lastIndexOf('/') + 1))
  }
}
