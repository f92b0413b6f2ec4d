/**
 * Reads a journal forward, every line parsed, and decides by reading all records what a consumer with a cursor is handed:
 * the long way, for the conformance vectors.
 */
import {
  type AnomalyKind,
  attentionOf,
  type Cursor,
  type Entity,
  entersActivity,
  entityHash,
  type Fold,
  type FoldedRecord,
  headOf,
  isNews,
  type JsonObject,
  limits,
  nextTurn,
  parseCursor,
  parsePayload,
  projectionDigest,
  RingBuffer,
  readSegment,
  registryCapability,
  SegmentReader,
  sectionsOf,
  wakeClassOf,
} from '@kim/manifest'
import type { Gap } from '@kim/observer-sdk'
import { type CheckpointEntry, type JournalLine, readBlob } from '@kim/observer-sdk/history'
import {
  type CheckpointDocument,
  checkpointEntities,
  type JournalCopy,
  type JournalPoint,
  openJournalCopy,
  type PassControl,
  verifyJournal,
} from '@kim/observer-sdk/verify'
import { foldOnto } from './reading.js'

/** Everything that a full scan finds; members as in OB-62. */
export interface FullResult {
  readonly activity: readonly number[]
  readonly anomalies: Readonly<Partial<Record<AnomalyKind, number>>>
  readonly attention_required: number
  readonly cursor: Cursor
  readonly digest: string
  readonly entities: number
  readonly gap: Gap | null
  readonly head_seq: number
  readonly news: readonly { readonly seq: number; readonly wake: string }[]
  readonly registry_authoritative: boolean
  readonly sections: Readonly<Record<string, readonly string[]>>
  readonly status: { readonly kind: string; readonly reasons: readonly string[] }
  readonly verify_exit: number
}

/** Reads a journal forward, every line parsed. */
export async function fullScan(
  eventsDir: string,
  storedCursor?: unknown,
  control: PassControl = {},
): Promise<FullResult> {
  const history = openJournalCopy(eventsDir)
  const cursor = parseCursor(storedCursor)
  const { document, rejected } = await newestCheckpoint(history, control.signal)
  const first = history.first?.number ?? 1
  const covered = document !== undefined && document.header.head_seq >= first - 1
  const base = covered && first > 1 ? document : undefined
  const all = new HandedOver()
  const activity = new RingBuffer<number>(limits.activityRecordsMax)
  const fold = foldFrom(base, first, record => {
    all.take(record)
    if (entersActivity(record)) activity.push(record.seq)
  })
  await history.walk(walkerOf(fold, history), control, base && tailOf(history, base))
  await nextTurn(control.signal)
  fold.count('checkpoint_rejected', rejected)
  fold.count('segment_misnamed', history.listing.misnamed.length)
  const attention = attentionOf(attentive(eventsDir, fold))
  const { head, entities, anomalies, registryAuthoritative } = fold
  const handed =
    cursor === undefined || !history.exists
      ? all
      : HandedOver.since(history, cursor, { head: head.seq, first })
  const reasons = [...(anomalies.future > 0 ? ['future'] : []), ...(first > 1 && !covered ? ['history'] : [])]
  const verdict = await verifyJournal({ eventsDir, ...control })
  return {
    activity: activity.toArray(),
    anomalies: Object.fromEntries(Object.entries(anomalies).filter(([, times]) => times > 0)),
    attention_required: attention,
    cursor: { checkpoint_seq: document?.header.head_seq ?? 0, seq: head.seq, writer: head.writer },
    digest: projectionDigest(
      [...entities.images()].map(entity => ({
        ...entity,
        entity_rev: entity.entity_rev,
        hash: entityHash(entity),
      })),
    ),
    entities: entities.size,
    gap: handed.gap ?? null,
    head_seq: head.seq,
    news: cursor === undefined ? [] : handed.news,
    registry_authoritative: registryAuthoritative,
    sections: handed.sections(),
    status: history.exists ? statusOf(reasons) : { kind: 'no_store', reasons: [] },
    verify_exit: verdict.exit,
  }
}

function statusOf(reasons: readonly string[]): FullResult['status'] {
  if (reasons.length === 0) return { kind: 'live', reasons }
  return { kind: reasons.includes('history') ? 'incomplete' : 'degraded', reasons }
}

/** The newest verified checkpoint, the live ones before the archived ones, and how many candidates failed before it. */
async function newestCheckpoint(
  history: JournalCopy,
  signal: AbortSignal | undefined,
): Promise<{ readonly document?: CheckpointDocument; readonly rejected: number }> {
  const age = ({ place }: CheckpointEntry): number => (place === 'live' ? 0 : 1)
  const candidates = history.checkpoints.toSorted((a, b) => age(a) - age(b) || b.headSeq - a.headSeq)
  for (const [rejected, candidate] of candidates.entries()) {
    const document = await history.checkpoint(candidate, signal)
    if (document !== undefined) return { document, rejected }
  }
  return { rejected: candidates.length }
}

/** A fold that begins at a checkpoint, or else at the first segment. */
function foldFrom(
  base: CheckpointDocument | undefined,
  first: number,
  onRecord: (record: FoldedRecord) => void,
): Fold<Entity> {
  const options = { countsDuplicates: true, onRecord }
  if (base === undefined) return foldOnto([], { after: first - 1 }, options)
  const { header } = base
  const registryAuthoritative = header.capabilities.includes(registryCapability)
  const fold = foldOnto(checkpointEntities(base), { head: headOf(header), registryAuthoritative }, options)
  for (const revision of header.revisions) fold.loadRevision(revision)
  return fold
}

/** Lets the fold take each segment. At the end of the newest one a transaction may still be completed. */
function walkerOf(fold: Fold<Entity>, { segments }: JournalCopy): Parameters<JournalCopy['walk']>[0] {
  let reader = new SegmentReader(fold)
  return {
    beginSegment(_, offset) {
      reader = new SegmentReader(fold, { offset })
      return reader
    },
    endSegment({ number }) {
      if (number !== segments.at(-1)?.number) reader.finish()
    },
  }
}

/** The place after the last line with a checkpoint's head; if there is none, the first segment above it. */
function tailOf(history: JournalCopy, { header }: CheckpointDocument): JournalPoint {
  const boundary = history.segmentOf(header.head_seq)?.number ?? 0
  for (const { number } of history.segments.toReversed()) {
    if (number < boundary) break
    const offset = history.read(number, content => {
      let after: number | undefined
      readSegment(() => content.chunks(), {
        valid({ record: { seq, writer }, offset, length }) {
          if (seq === header.head_seq && (writer ?? null) === header.head_writer) after = offset + length + 1
          return true
        },
      })
      return after
    })
    if (offset !== undefined) return { segment: number, offset }
  }
  return { segment: header.head_seq + 1, offset: 0 }
}

function* attentive(
  eventsDir: string,
  fold: Fold<Entity>,
): Generator<{ item_type: string; payload: JsonObject | undefined }> {
  for (const { item_type, payload, payload_ref } of fold.entities.images()) {
    if (payload_ref === undefined) yield { item_type, payload }
    else {
      const read = readBlob(eventsDir, payload_ref)
      if (!read.ok) fold.count(read.reason === 'mismatch' ? 'blob_mismatch' : 'blob_missing')
      yield { item_type, payload: read.ok ? parsePayload(read.value.toString('utf8')) : undefined }
    }
  }
}

/** What is known of a journal as a whole: its head, and the number of its first segment. */
interface Whole {
  readonly head: number
  readonly first: number
}

/** The records in scope, as far as a consumer asks for them. */
class HandedOver {
  readonly news: { seq: number; wake: string }[] = []
  gap: Gap | undefined
  readonly #sections = new Map<string, Set<string>>()

  /** What a consumer with this cursor is handed of all that is available. */
  static since(history: JournalCopy, cursor: Cursor, whole: Whole): HandedOver {
    const survey = new Survey(cursor, whole, history)
    for (const line of history.forwards()) survey.take(line)
    const from = survey.start()
    const handed = new HandedOver()
    let at = 0
    let firstSeq: number | undefined
    for (const { record } of history.forwards()) {
      if (at++ < from) continue
      firstSeq ??= record.seq
      handed.take(record)
    }
    handed.gap = survey.gap(firstSeq)
    return handed
  }

  /** A record in scope. */
  take(record: FoldedRecord): void {
    if (isNews(record)) this.news.push({ seq: record.seq, wake: wakeClassOf(record.event ?? '') })
    const sections = sectionsOf(record)
    if (sections.length === 0) return
    const known = this.#sections.get(record.item_type) ?? new Set()
    for (const section of sections) known.add(section)
    this.#sections.set(record.item_type, known)
  }

  /** The sections made stale, by item type. */
  sections(): Record<string, string[]> {
    return Object.fromEntries([...this.#sections].map(([type, sections]) => [type, [...sections].sort()]))
  }
}

/** What table U asks of the records, by their number in file order. */
class Survey {
  readonly #cursor: Cursor
  readonly #whole: Whole
  readonly #history: JournalCopy
  #records = 0
  #above: { readonly at: number; readonly line: JournalLine } | undefined
  #afterWriter: number | undefined
  #started: number | undefined
  #ours = false
  #others = false

  constructor(cursor: Cursor, whole: Whole, history: JournalCopy) {
    this.#cursor = cursor
    this.#whole = whole
    this.#history = history
  }

  take(line: JournalLine): void {
    const { seq, writer, action, payload } = line.record
    const cursor = this.#cursor
    const at = this.#records++
    if (seq > cursor.seq) this.#above ??= { at, line }
    const isOurs = cursor.writer !== null && writer === cursor.writer
    if (isOurs) this.#afterWriter = at + 1
    if (seq === cursor.seq) {
      if (isOurs) this.#ours = true
      else this.#others = true
    }
    if (action === 'journal_note' && payload?.['kind'] === 'producer_started') this.#started = at
  }

  start(): number {
    if (this.#isRewound()) return this.#afterWriter ?? this.#started ?? 0
    return this.#above?.at ?? this.#records
  }

  gap(firstHanded: number | undefined): Gap | undefined {
    const { seq } = this.#cursor
    const { head, first } = this.#whole
    if (this.#isRewound()) return { from: Math.min(firstHanded ?? head + 1, seq), to: seq, reason: 'rewound' }
    if (this.#above === undefined) return undefined
    const { record, segment } = this.#above.line
    // Lines may lack a number by themselves; but if a segment begins above what should come next, another one is missing.
    if (segment <= seq + 1 || record.seq <= seq + 1) return undefined
    return { from: seq + 1, to: record.seq - 1, reason: segment === first ? 'archived' : 'missing' }
  }

  #isRewound(): boolean {
    const { seq, writer } = this.#cursor
    return (
      (seq > this.#whole.head && !this.#history.isEndHidden) ||
      (writer !== null && this.#others && !this.#ours)
    )
  }
}
