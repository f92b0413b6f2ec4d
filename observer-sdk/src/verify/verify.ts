import {
  announcedLoss,
  type Effect,
  eventsPaths,
  type Meta,
  parseMeta,
  projectionDigest,
  type ReadRecord,
} from '@kim/manifest'
import { openFile } from '../store/file-content.js'
import { listStore, type SegmentEntry } from '../store/listing.js'
import { noJournalAt } from '../store/no-journal.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import { ChainCheck, ProjectIdentity, RedactionCheck } from './chain-checks.js'
import {
  CheckpointCheck,
  isReferenced,
  type SurveyedCheckpoint,
  surveyCheckpoint,
} from './checkpoint-check.js'
import { ContinuityCheck, revisionFault } from './continuity-check.js'
import { exitOf, FindingLog, type JournalVerdict, noJournal } from './findings.js'
import { HashedState } from './hashed-state.js'
import { BlobCheck, FramingCheck, noteKindOf, notePayload, schemaFault } from './line-checks.js'
import { checkpointBytes, type PassOptions, PassPacer, segmentBytes } from './pace.js'
import { TxCheck } from './tx-check.js'
import {
  type JournalSink,
  type LinePlace,
  type MalformedEntry,
  placeOf,
  type RecordEntry,
  type RecordFate,
  type SegmentEnd,
  walkJournal,
} from './walk.js'

/** More than our writer ever puts into `meta.json`. A larger file is not read. */
const BYTES_MAX = 4096

/** What `meta.json` says, if it is one. */
export function readMeta(eventsDir: string): Meta | undefined {
  const opened = openFile(eventsPaths(eventsDir).meta)
  if (!opened.ok) return undefined
  const content = opened.value
  try {
    if (content.bytes > BYTES_MAX) return undefined
    const text = content.read(0, content.bytes).toString('utf8')
    return content.failure === undefined ? parseMeta(text) : undefined
  } finally {
    content.close()
  }
}

/** Whether `meta.json` names a project as our writer does: then this journal is ours, even without its records. */
export function namesProject(meta: Meta | undefined): boolean {
  return meta !== undefined && /^[0-9a-f]{32}$/.test(meta.project_id)
}

/** What a pass knows before it walks. */
interface Survey {
  readonly eventsDir: string
  readonly segments: readonly SegmentEntry[]
  readonly files: readonly SurveyedCheckpoint[]
  /** Up to which seq the records are not available. */
  readonly after: number
  /** True if something outside the records says that our writer wrote them. */
  readonly isNative: boolean
}

/** The checks of one pass, each with those that it asks. */
function checksOf({ eventsDir, segments, files, after }: Survey, log: FindingLog, pace: PassPacer) {
  const state = new HashedState()
  const project = new ProjectIdentity(log)
  const continuity = new ContinuityCheck(log, after)
  const redactions = new RedactionCheck(log)
  const chain = new ChainCheck(log, redactions, continuity)
  const blobs = new BlobCheck(log)
  const isAhead = (file: SurveyedCheckpoint) => isReferenced(eventsDir, segments, file, pace)
  const context = { eventsDir, log, state, continuity, chain, redactions, project, blobs }
  const checkpoints = new CheckpointCheck({ ...context, isReferenced: isAhead }, files)
  return { ...context, checkpoints, framing: new FramingCheck(log), runs: new TxCheck(log) }
}

/** Hands each event of a walk to the checks it concerns, in the order they depend on each other. */
class JournalJudge implements JournalSink {
  readonly checks: ReturnType<typeof checksOf>
  /** Segments, bytes of content, lines that are not blank, and valid records that were read. */
  segments = 0
  bytes = 0
  lines = 0
  records = 0
  readonly #survey: Survey
  readonly #log: FindingLog
  readonly #pace: PassPacer
  #firstSeq: number | undefined
  #lastSeq: number | undefined

  constructor(survey: Survey, log: FindingLog, pace: PassPacer) {
    this.checks = checksOf(survey, log, pace)
    this.#survey = survey
    this.#log = log
    this.#pace = pace
  }

  /** Whether the journal says that our writer wrote it. */
  get isNative(): boolean {
    return this.#survey.isNative || this.checks.project.id !== undefined
  }

  /** The walk is over: judges what later lines could have explained. */
  end(): void {
    const { framing, continuity, runs, chain, checkpoints } = this.checks
    for (const check of [framing, continuity, runs, chain, checkpoints]) check.end()
  }

  beginSegment(segment: SegmentEntry): void {
    this.checks.chain.beginSegment(segment.number)
    this.#firstSeq = undefined
    this.#lastSeq = undefined
  }

  line(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void {
    this.lines += 1
    this.records += 1
    this.checks.project.record(record, place)
    if (!this.isNative) return
    const fault = schemaFault(record, effect, bytes)
    if (fault !== undefined) this.#log.report('schema', { ...place, seq: record.seq }, fault)
  }

  record(entry: RecordEntry, fate: RecordFate): void {
    this.#firstSeq ??= entry.seq
    this.#lastSeq = entry.seq
    this.checks.continuity.record(entry)
    this.checks.chain.record(entry)
    if (fate === 'applied') this.#apply(entry)
    this.checks.checkpoints.record(entry, fate !== 'dropped')
  }

  dropped(entries: readonly RecordEntry[]): void {
    this.checks.runs.dropped(entries)
  }

  malformed(entry: MalformedEntry): void {
    this.lines += 1
    this.checks.framing.malformed(entry)
  }

  future(seq: number | undefined, place: LinePlace): void {
    this.lines += 1
    this.checks.framing.future(place)
    if (seq !== undefined) this.checks.continuity.future(seq, { ...place, seq })
  }

  pause(): Promise<void> | undefined {
    return this.checks.checkpoints.due === undefined
      ? undefined
      : this.checks.checkpoints.compareDue(this.#pace)
  }

  endSegment({ name, number }: SegmentEntry, end: SegmentEnd): void {
    const { bytes, sha256, failure } = end
    const isNewest = number === this.#survey.segments.at(-1)?.number
    this.segments += 1
    this.bytes += bytes
    if (failure === undefined) this.checks.framing.tail(name, isNewest, end.pending)
    else this.#log.report('unreadable', { segment: name }, `${name}: ${failure.code}`)
    this.checks.runs.openTail(end.openRun)
    const seqs = { firstSeq: this.#firstSeq, lastSeq: this.#lastSeq }
    this.checks.chain.endSegment({ name, number, bytes, sha256, isWhole: failure === undefined, ...seqs })
  }

  unreadable({ name }: SegmentEntry, failure: ReadFailure): void {
    this.#log.report('unreadable', { segment: name }, `${name}: ${failure.code}`)
  }

  #apply(entry: RecordEntry): void {
    const { record, effect } = entry
    if (record.payload_ref !== undefined) this.checks.blobs.ref(record.payload_ref, placeOf(entry))
    if (effect === 'meta') this.#note(entry)
    const isChange = record.item_id !== undefined && (effect === 'upsert' || effect === 'remove')
    const fault = isChange ? revisionFault(entry, this.checks.state, this.checks.continuity) : undefined
    if (fault !== undefined) this.#log.report('revision', entry, fault)
    this.checks.state.apply(entry)
  }

  #note(entry: RecordEntry): void {
    const kind = noteKindOf(entry.record, entry.effect)
    const payload = notePayload(entry.record)
    if (kind === 'torn_tail_adjudicated') this.checks.framing.adjudicated(payload)
    else if (kind === 'tx_abandoned') this.checks.runs.abandoned(payload)
    else if (kind === 'redaction') this.checks.redactions.note(payload, entry.seq)
  }
}

/** What hashing one payload counts for, in bytes read. */
const hashCost = 1024

/**
 * Judges a journal directory, archive included, from its bytes alone. Reads only, in bounded memory, and never
 * repairs. Rejects only with the reason of an aborted signal: whatever the directory holds is a finding.
 */
export async function verifyJournal(options: PassOptions): Promise<JournalVerdict> {
  const { eventsDir } = options
  const log = new FindingLog()
  const missing = noJournalAt(eventsDir)
  if (missing !== undefined) return { ...noJournal, hint: missing.hint }
  const listed = listStore(eventsDir)
  if (!listed.ok) {
    if (listed.reason === 'absent') return noJournal
    log.report('unreadable', {}, `${eventsDir}: ${listed.code}`)
    return { ...noJournal, exit: 6, findings: log.close(false) }
  }
  const listing = listed.value
  for (const name of listing.misnamed)
    log.report('segment_misnamed', { segment: name }, `${name} is not read`)
  for (const { path, code } of listing.failures) log.report('unreadable', {}, `${path}: ${code}`)

  // Before anything else: a writer at work may only be ahead of it afterwards.
  const meta = readMeta(eventsDir)
  const pace = new PassPacer(options)
  // A checkpoint is read for its hash, and again where it is compared.
  pace.expect(segmentBytes(eventsDir, listing) + 2 * checkpointBytes(eventsDir, listing))
  const files: SurveyedCheckpoint[] = []
  for (const entry of listing.checkpoints) {
    const surveyed = await surveyCheckpoint(eventsDir, entry, pace)
    if (surveyed.ok) files.push(surveyed.value)
    else if (surveyed.reason === 'unreadable') log.report('unreadable', {}, `${entry.name}: ${surveyed.code}`)
  }
  const after = (listing.segments[0]?.number ?? 1) - 1
  const isNative = files.some(file => file.header !== undefined) || namesProject(meta)
  const { segments } = listing
  const judge = new JournalJudge({ eventsDir, segments, files, after, isNative }, log, pace)

  const start = files.find(file => file.headSeq === after)
  if (after > 0 && start !== undefined) await judge.checks.checkpoints.compare(start, pace)
  await walkJournal(eventsDir, segments, judge, pace)
  judge.end()
  const { continuity, project, state } = judge.checks
  if (after > 0)
    log.report('history_starts_at', { seq: after + 1 }, `records up to seq ${after} are not available`)
  await judge.checks.blobs.end(eventsDir, pace)
  // `meta.json` is written after what it speaks of is durable: where it is ahead, records that were told of are gone, or
  // this is a copy that was made while a writer was at work.
  const lost = meta && project.id && announcedLoss(meta, project.id, continuity.head + 1)
  if (lost) {
    const detail = `meta.json names seq ${lost.to}, but the journal ends at ${continuity.head}`
    log.report('meta_ahead', { seq: lost.from }, detail)
  }

  const isForeign = !judge.isNative && judge.lines > 0
  if (isForeign) {
    log.drop('seal_missing')
    log.drop('schema')
    log.report('foreign', {}, 'no record names a project: another writer made this journal')
  }
  for (const { image } of state.entities()) {
    void image.hash
    await pace.turn(hashCost)
  }
  const digest = projectionDigest(state.digestEntities())
  const findings = log.close(isForeign)
  pace.finish()
  return {
    exit: exitOf(findings),
    findings,
    verified_from: after + 1,
    records: judge.records,
    segments: judge.segments,
    bytes: judge.bytes,
    head_seq: continuity.head,
    project_id: project.id ?? files.find(file => file.header !== undefined)?.header?.project_id ?? null,
    digest,
  }
}
