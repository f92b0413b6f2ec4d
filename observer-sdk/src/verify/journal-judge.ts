import type { Effect, ReadRecord } from '@kim/manifest'
import type { SegmentEntry } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { BlobCheck } from './blob-check.js'
import type { ChainCheck } from './chain-check.js'
import type { CheckpointCheck } from './checkpoint-check.js'
import type { ContinuityCheck } from './continuity-check.js'
import type { LinePlace, MalformedEntry, RecordEntry } from './entry.js'
import type { FindingLog } from './findings.js'
import type { FramingCheck } from './framing-check.js'
import type { HashedState } from './hashed-state.js'
import { noteKindOf, notePayload } from './note.js'
import type { PassPacer } from './pace.js'
import type { ProjectIdentity } from './project-identity.js'
import type { RedactionCheck } from './redaction-check.js'
import type { RevisionCheck } from './revision-check.js'
import type { SchemaCheck } from './schema-check.js'
import type { TxCheck } from './tx-check.js'
import type { JournalSink, RecordFate, SegmentEnd } from './walk.js'

/** The checks that one walk feeds. */
export interface Checks {
  readonly log: FindingLog
  readonly state: HashedState
  readonly project: ProjectIdentity
  readonly framing: FramingCheck
  readonly schema: SchemaCheck
  readonly continuity: ContinuityCheck
  readonly revisions: RevisionCheck
  readonly runs: TxCheck
  readonly chain: ChainCheck
  readonly redactions: RedactionCheck
  readonly checkpoints: CheckpointCheck
  readonly blobs: BlobCheck
}

/** Hands each event of a walk to the checks it concerns, in the order they depend on each other. */
export class JournalJudge implements JournalSink {
  readonly #checks: Checks
  readonly #pace: PassPacer
  readonly #newest: number
  readonly #isNativeFromOutside: boolean
  #segments = 0
  #bytes = 0
  #lines = 0
  #records = 0
  #firstSeq: number | undefined
  #lastSeq: number | undefined

  /** `newest` is the number of the newest segment; `isNative` is true if something outside the records says so. */
  constructor(checks: Checks, newest: number, isNative: boolean, pace: PassPacer) {
    this.#checks = checks
    this.#newest = newest
    this.#isNativeFromOutside = isNative
    this.#pace = pace
  }

  /** Segments read. */
  get segments(): number {
    return this.#segments
  }

  /** Bytes of content read. */
  get bytes(): number {
    return this.#bytes
  }

  /** Lines read that are not blank. */
  get lines(): number {
    return this.#lines
  }

  /** Valid records among them. */
  get records(): number {
    return this.#records
  }

  /** Whether the journal says that our writer wrote it. */
  get isNative(): boolean {
    return this.#isNativeFromOutside || this.#checks.project.id !== undefined
  }

  beginSegment(segment: SegmentEntry): void {
    this.#checks.chain.beginSegment(segment.number)
    this.#firstSeq = undefined
    this.#lastSeq = undefined
  }

  line(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void {
    this.#lines += 1
    this.#records += 1
    this.#checks.project.record(record, place)
    if (this.isNative) this.#checks.schema.record(record, effect, bytes, place)
  }

  record(entry: RecordEntry, fate: RecordFate): void {
    const { continuity, chain, checkpoints } = this.#checks
    this.#firstSeq ??= entry.seq
    this.#lastSeq = entry.seq
    continuity.record(entry)
    chain.record(entry)
    if (fate === 'applied') this.#apply(entry)
    checkpoints.record(entry, fate !== 'dropped')
  }

  dropped(entries: readonly RecordEntry[]): void {
    this.#checks.runs.dropped(entries)
  }

  malformed(entry: MalformedEntry): void {
    this.#lines += 1
    this.#checks.framing.malformed(entry)
  }

  future(seq: number | undefined, place: LinePlace): void {
    this.#lines += 1
    this.#checks.framing.future(place)
    if (seq !== undefined) this.#checks.continuity.future(seq, { ...place, seq })
  }

  pause(): Promise<void> | undefined {
    return this.#checks.checkpoints.due === undefined
      ? undefined
      : this.#checks.checkpoints.compareDue(this.#pace)
  }

  endSegment({ name, number }: SegmentEntry, end: SegmentEnd): void {
    const { log, framing, runs, chain } = this.#checks
    this.#segments += 1
    this.#bytes += end.bytes
    if (end.failure === undefined) framing.tail(name, number === this.#newest, end.pending)
    else log.report('unreadable', { segment: name }, `${name}: ${end.failure.code}`)
    runs.openTail(end.openRun)
    const { bytes, sha256 } = end
    const isWhole = end.failure === undefined
    chain.endSegment({
      name,
      number,
      bytes,
      sha256,
      isWhole,
      firstSeq: this.#firstSeq,
      lastSeq: this.#lastSeq,
    })
  }

  unreadable({ name }: SegmentEntry, failure: ReadFailure): void {
    this.#checks.log.report('unreadable', { segment: name }, `${name}: ${failure.code}`)
  }

  #apply(entry: RecordEntry): void {
    const { state, revisions, blobs } = this.#checks
    const { record, effect } = entry
    const { item_type: type, item_id: id } = record
    if (record.payload_ref !== undefined) blobs.ref(record.payload_ref, place(entry))
    if (effect === 'meta') this.#note(entry)
    if (id !== undefined && (effect === 'upsert' || effect === 'remove')) revisions.record(entry, type, id)
    state.apply(entry)
  }

  #note(entry: RecordEntry): void {
    const { framing, runs, redactions } = this.#checks
    const kind = noteKindOf(entry.record, entry.effect)
    const payload = notePayload(entry.record)
    if (kind === 'torn_tail_adjudicated') framing.adjudicated(payload)
    else if (kind === 'tx_abandoned') runs.abandoned(payload)
    else if (kind === 'redaction') redactions.note(payload, place(entry))
  }
}

function place({ segment, offset, seq }: RecordEntry): { segment: string; offset: number; seq: number } {
  return { segment, offset, seq }
}
