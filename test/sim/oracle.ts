import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@kim/manifest'
import type { Draft } from '@kim/producer/internal'
import { commitOf, isPinOfAnOpen, LossWitness, type NaiveRecord } from '../kit/index.js'
import type { Flight } from './flight.js'
import { type Image, nameOf } from './images.js'
import { markIn } from './mark.js'
import { retirable } from './retained.js'
import { expect, Violation } from './violation.js'

const keyRetentionMs = 30 * 24 * 3600 * 1000
const upserts = new Set(['create', 'update', 'accept', 'reject', 'assignment_created'])

/**
 * What the journal must come to: the acknowledged batches in their order, and at each crash or failure a prefix
 * of what was in flight, without the sectors that the disk lost, and what retention does. It reads records as text and folds them by rules of its own.
 */
export class Oracle {
  readonly #retainRead: number
  readonly #live: Map<string, Image> = new Map()
  readonly #revs: Map<string, number> = new Map()
  readonly #keys: Map<string, { seq: number; wallMs: number }> = new Map()
  readonly #stood: NaiveRecord[] = []
  readonly #marks: Set<number> = new Set()
  readonly #losses: LossWitness = new LossWitness()
  /** The commits that the disk lost some of; see `commitOf`. */
  readonly #torn: Set<string> = new Set()
  /** Records before which numbers are missing. */
  readonly #behindGap: Set<NaiveRecord> = new Set()
  #flights: Flight[] = []
  #lastSeq = 0
  #visibleSeq = 0
  /** Records that callers asked for and that stand. */
  records = 0
  /** Batches of which only a part survived, and batches that are gone. */
  cut = 0
  /** Records that a known key kept from being appended. */
  deduped = 0
  /** Messages that retention took. */
  retired = 0

  constructor(retainRead: number) {
    this.#retainRead = retainRead
  }

  get live(): ReadonlyMap<string, Image> {
    return this.#live
  }

  get keys(): readonly string[] {
    return [...this.#keys.keys()]
  }

  revisionOf(type: string, id: string): number {
    return this.#revs.get(nameOf(type, id)) ?? 0
  }

  /** A batch is about to be asked for. */
  ask(flight: Flight): void {
    this.#flights.push(flight)
  }

  /** Somebody was shown a journal that ends with this number. */
  see(seq: number): void {
    if (seq > this.#visibleSeq) this.#visibleSeq = seq
  }

  /**
   * The whole journal, read anew: what stood before must stand as it did, and what is new must be what was asked
   * for. Afterwards nothing is in flight.
   */
  observe(records: readonly NaiveRecord[]): void {
    expect(records.length >= this.#stood.length, () => {
      const lost = this.#stood.slice(records.length).map(({ seq }) => seq)
      return `records that stood are gone: ${lost.join(' ')}`
    })
    for (const [at, stood] of this.#stood.entries()) {
      expect(isSame(stood, records[at]), () => `record ${stood.seq} is not what it was`)
    }
    const fresh = records.slice(this.#stood.length)
    for (const record of fresh) {
      expect(record.seq > this.#lastSeq, () => `${record.seq} stands after ${this.#lastSeq}`)
      if (record.seq > this.#lastSeq + 1) {
        this.#behindGap.add(record)
        this.#torn.add(commitOf(record))
      }
      this.#losses.see(record)
      this.#lastSeq = record.seq
      this.#stood.push(record)
    }
    expect(
      this.#lastSeq >= this.#visibleSeq,
      () => `${this.#visibleSeq} was shown, the journal ends at ${this.#lastSeq}`,
    )
    const asked: NaiveRecord[] = []
    for (const record of fresh) if (markIn(record.summary) !== undefined) asked.push(record)
    const matched = this.#match(asked)
    for (const record of fresh) {
      const draft = matched.get(record.seq)
      if (draft !== undefined) this.#apply(record, draft)
      else if (record.raw['agent'] === 'kim') this.#note(record)
      else if (isPinOfAnOpen(record)) this.#pinned(record)
      else this.#retire(record)
    }
    const said = this.#losses.objections()
    expect(said.length === 0, () => said.join('; '))
    this.#behindGap.clear()
  }

  /** Which draft each record that bears a mark came from. Keys are looked up as they become known. */
  #match(asked: readonly NaiveRecord[]): Map<number, Draft> {
    const out = new Map<number, Draft>()
    let next = 0
    let brokenCommit: number | undefined
    /** Keys of drafts whose records the disk lost. */
    const lostKeys = new Set<string>()
    for (const flight of this.#flights) {
      const known = flight.drafts.map(
        ({ key }) =>
          this.#knownAt(key, flight.wallMs) ?? (lostKeys.has(key ?? '') ? { must: false } : undefined),
      )
      if (flight.fate === 'refused') {
        this.#judgeRefusal(flight, known)
        continue
      }
      if (flight.fate === 'moved') continue
      // Death came before anybody was told of the refusal. Where a key may have been forgotten, what stands tells.
      const isRefused =
        known.some(k => k?.must === true) || !flight.marks.some(mark => mark === markOf(asked[next]))
      if (flight.fate === 'open' && isMixed(flight, known) && isRefused) continue
      let stood = 0
      let wanted = 0
      let whole = true
      let isMissing = false
      const head = asked[next]
      for (const [i, draft] of flight.drafts.entries()) {
        const first = this.#knownAt(draft.key, flight.wallMs)
        const record = asked[next]
        const isNext = record !== undefined && markOf(record) === flight.marks[i]
        const isDeduped = this.#judgeReceipt(flight, i, first, isNext)
        if (isDeduped) {
          this.deduped++
          continue
        }
        wanted++
        if (!isNext) {
          whole = false
          // It may have been answered by the record of its key that was lost, and then had no number of its own.
          if (draft.key !== undefined && lostKeys.has(draft.key)) continue
          if (draft.key !== undefined) lostKeys.add(draft.key)
          isMissing = true
          continue
        }
        // A record behind one that the disk lost shows by its number that one is missing.
        expect(
          !isMissing || this.#behindGap.has(record),
          () => `${saw(record)}: no number is missing before it`,
        )
        isMissing = false
        this.#judgeRecord(record, draft, flight, i)
        const mark = flight.marks[i] as number
        expect(!this.#marks.has(mark), () => `stands twice: ${saw(record)}`)
        this.#marks.add(mark)
        out.set(record.seq, draft)
        if (draft.key !== undefined) {
          this.#keys.set(draft.key, { seq: record.seq, wallMs: Date.parse(String(record.raw['ts'])) })
        }
        stood++
        next++
      }
      this.records += stood
      const of = `[${flight.marks.map(mark => `#${mark}`).join(' ')}]`
      if (flight.fate === 'acknowledged') {
        expect(whole, () => `acknowledged and lost: ${wanted - stood} of ${of}, at ${saw(asked[next])}`)
      } else if (stood < wanted) {
        this.cut++
        expect(!flight.tx || stood === 0, () => `${stood} of the transaction ${of} stand`)
      }
      expect(
        stood === 0 || flight.commit !== brokenCommit || (head !== undefined && this.#behindGap.has(head)),
        () => `${of} stands, what came before it does not`,
      )
      if (stood > 0) brokenCommit = undefined
      // What was asked for again stands from the first time, or is to be derived anew while others go on.
      if (isMissing && flight.before === undefined) brokenCommit = flight.commit
    }
    this.#flights = []
    if (next < asked.length) throw new Violation(`stands twice, or was never asked for: ${saw(asked[next])}`)
    return out
  }

  /** The seq that a key must or may be answered with. */
  #knownAt(key: string | undefined, wallMs: number): { seq: number; must: boolean } | undefined {
    const known = key === undefined ? undefined : this.#keys.get(key)
    if (known === undefined) return undefined
    return { seq: known.seq, must: wallMs - known.wallMs < keyRetentionMs }
  }

  /** True where the draft was answered, or must have been, by an earlier record. */
  #judgeReceipt(
    flight: Flight,
    i: number,
    first: { seq: number; must: boolean } | undefined,
    stands: boolean,
  ): boolean {
    const { receipt } = flight
    // Nobody was told. A key that may be forgotten by now may have been.
    if (receipt === undefined) return first !== undefined && (first.must || !stands)
    const said = receipt.deduped[i] === true
    const mark = flight.marks[i]
    if (said) {
      expect(first !== undefined, () => `#${mark} is called a repetition, but nothing bears its key`)
      expect(
        receipt.seqs[i] === first?.seq,
        () => `#${mark} was ${first?.seq}, its receipt says ${receipt.seqs[i]}`,
      )
    } else {
      expect(first?.must !== true, () => `#${mark} repeats the key of ${first?.seq} and was appended again`)
    }
    return said
  }

  #judgeRefusal(flight: Flight, known: readonly ({ must: boolean } | undefined)[]): void {
    expect(isMixed(flight, known), () => `a sound batch was refused: #${flight.marks.join(' #')}`)
  }

  #judgeRecord(record: NaiveRecord, draft: Draft, flight: Flight, i: number): void {
    const { receipt } = flight
    const seq = receipt?.seqs[i]
    expect(seq === undefined || seq === record.seq, () => `${saw(record)}: its receipt says ${seq}`)
    const wrong = (['agent', 'action', 'item_type', 'item_id', 'key', 'event'] as const).filter(
      name => record.raw[name] !== draft[name],
    )
    expect(wrong.length === 0, () => `${saw(record)}: another ${wrong.join(', ')} than was asked for`)
    const isRun = flight.tx && distinct(flight.drafts) > 1
    expect(isRun === (record.tx !== undefined), () => `${saw(record)}: alone and together are mixed up`)
    const inline = record.raw['payload']
    const isKept = inline === undefined || isDeepStrictEqual(inline, draft.payload)
    expect(isKept, () => `${saw(record)}: another payload than was asked for`)
    const isThere = inline !== undefined || record.raw['payload_ref'] !== undefined
    expect(isThere === (draft.payload !== undefined), () => `${saw(record)}: its payload came or went`)
  }

  #apply(record: NaiveRecord, draft: Draft): void {
    const { action, item_type, item_id, payload } = draft
    const name = nameOf(item_type, item_id)
    const rev = this.#revisionBefore(record, name)
    if (action === 'delete') this.#live.delete(name)
    else if (upserts.has(action) && payload !== undefined) {
      const inline = record.raw['payload'] !== undefined
      this.#live.set(name, { type: item_type, id: item_id, rev: rev + 1, payload, inline })
    } else {
      expect(record.raw['entity_rev'] === rev, () => `${saw(record)}: a revision without a change`)
      return
    }
    expect(record.raw['entity_rev'] === rev + 1, () => `${saw(record)}: revision after ${rev}`)
    this.#revs.set(name, rev + 1)
  }

  /** The revision that a change goes on from. In a commit that the disk lost some of, earlier changes may be missing. */
  #revisionBefore(record: NaiveRecord, name: string): number {
    const known = this.#revs.get(name) ?? 0
    if (!this.#torn.has(commitOf(record))) return known
    const { action, raw } = record
    const isChange = action === 'delete' || (upserts.has(action) && 'payload' in raw) || 'payload_ref' in raw
    return Math.max(known, Number(raw['entity_rev']) - (isChange ? 1 : 0))
  }

  /** A pin that the open set for mail that the disk may have lost; `loss-witness.ts` judges it. */
  #pinned(record: NaiveRecord): void {
    const { item_type: type, item_id: id, raw } = record
    const name = nameOf(type, id)
    const rev = (this.#revs.get(name) ?? 0) + 1
    const action = this.#live.has(name) ? 'update' : 'create'
    expect(
      record.action === action && raw['entity_rev'] === rev,
      () => `${saw(record)}: not ${action} ${rev}`,
    )
    this.#live.set(name, { type, id, rev, payload: raw['payload'] as JsonObject, inline: true })
    this.#revs.set(name, rev)
  }

  /** The journal's own words; a seal must find retention done. */
  #note(record: NaiveRecord): void {
    const payload = record.raw['payload'] as JsonObject
    if (payload['kind'] !== 'segment_sealed') return
    for (const image of this.#live.values()) {
      if (image.type !== 'persona') continue
      const left = retirable(this.#live, image.id, this.#retainRead)
      expect(left.length === 0, () => `sealed at ${record.seq} while ${image.id} keeps ${left.join(' ')}`)
    }
  }

  #retire(record: NaiveRecord): void {
    const name = nameOf(record.item_type, record.item_id)
    const image = this.#live.get(name)
    const next = (image?.rev ?? 0) + 1
    expect(
      image !== undefined && record.raw['entity_rev'] === next,
      () => `${saw(record)}: no caller asked for it`,
    )
    if (image === undefined) return
    this.#revs.set(name, next)
    if (record.action === 'update' && record.item_type === 'persona') {
      const payload = record.raw['payload'] as JsonObject
      const { known_from, ...rest } = payload
      const { known_from: before, ...was } = image.payload
      expect(isDeepStrictEqual(rest, was), () => `${saw(record)}: retention changed more than known_from`)
      expect(Number(known_from) >= Number(before ?? 0), () => `${saw(record)}: known_from went back`)
      this.#live.set(name, { ...image, rev: next, payload })
      return
    }
    expect(
      record.action === 'delete' && record.item_type === 'message' && record.summary === 'archived',
      () => `${saw(record)}: no caller asked for it`,
    )
    const persona = String(record.raw['agent'])
    const id = Number(record.item_id.slice(persona.length + 1))
    expect(
      retirable(this.#live, persona, this.#retainRead).includes(id),
      () => `${saw(record)}: is to be kept`,
    )
    const known = Number(this.#live.get(nameOf('persona', persona))?.payload['known_from'])
    expect(known > id, () => `${saw(record)}: taken at or above known_from ${known}`)
    this.#live.delete(name)
    this.retired++
  }
}

function markOf(record: NaiveRecord | undefined): number | undefined {
  return record === undefined ? undefined : markIn(record.summary)
}

function saw(record: NaiveRecord | undefined): string {
  if (record === undefined) return 'the end'
  return `${record.seq} ${record.summary} (${record.action} ${record.item_type} ${record.item_id})`
}

function isSame(one: NaiveRecord, other: NaiveRecord | undefined): boolean {
  return one === other || (other !== undefined && JSON.stringify(one.raw) === JSON.stringify(other.raw))
}

/** How many records a batch of unknown keys makes. */
function distinct(drafts: readonly Draft[]): number {
  return new Set(drafts.map(({ key }, i) => (key === undefined ? i : key))).size
}

/** True for a transaction of which some keys are known and others are, or may be, not: nothing of it is appended. */
function isMixed({ tx }: Flight, known: readonly ({ must: boolean } | undefined)[]): boolean {
  return tx && known.some(k => k !== undefined) && known.some(k => k?.must !== true)
}
