import {
  type AnomalyKind,
  attentionOf,
  type Cursor,
  type Entity,
  entersActivity,
  entityHash,
  Fold,
  type FoldedRecord,
  type FoldStart,
  headOf,
  type JsonObject,
  limits,
  nextTurn,
  parseCursor,
  parsePayload,
  projectionDigest,
  RingBuffer,
  readSegment,
  registryCapability,
  type SegmentLine,
  SegmentReader,
  upsertedEntity,
} from '@kim/manifest'
import {
  type CheckpointDocument,
  checkpointEntities,
  type FileContent,
  type Gap,
  JournalDirectory,
  readBlob,
  SegmentSet,
  searchCheckpoint,
} from '@kim/observer-sdk/history'
import { type PassOptions, PassPacer, segmentBytes, verifyJournal } from '@kim/observer-sdk/verify'
import { HandedOver } from './handed-over.js'
import { runWork } from './run-work.js'

/** Everything that a full scan comes to; members as in OB-62. */
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
  control: Omit<PassOptions, 'eventsDir'> = {},
): Promise<FullResult> {
  const options = { eventsDir, ...control }
  const directory = new JournalDirectory(eventsDir)
  directory.scan()
  const { identity } = directory
  const history = new SegmentSet(directory)
  const cursor = parseCursor(storedCursor)
  const { document, rejected } = await search(history, control.signal)
  const first = history.first() ?? 1
  const covered = document !== undefined && document.header.head_seq >= first - 1
  const base = covered && first > 1 ? document : undefined
  const all = new HandedOver()
  const activity = new RingBuffer<number>(limits.activityRecordsMax)
  const fold = foldFrom(base, first, record => {
    all.take(record)
    if (entersActivity(record)) activity.push(record.seq)
  })
  await foldSegments(history, base, fold, options)
  for (let i = 0; i < rejected; i++) fold.count('checkpoint_rejected')
  for (let i = 0; i < directory.listing.misnamed.length; i++) fold.count('segment_misnamed')
  const attention = attentionOf(attentive(eventsDir, fold))
  const handed =
    cursor === undefined || identity === undefined
      ? all
      : HandedOver.since(directory, cursor, { head: fold.head.seq, first, isEndHidden: history.isEndHidden })
  const { head, entities, anomalies } = fold
  const reasons = [...(anomalies.future > 0 ? ['future'] : []), ...(first > 1 && !covered ? ['history'] : [])]
  const verdict = await verifyJournal(options)
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
    registry_authoritative: fold.registryAuthoritative,
    sections: handed.sections(),
    status: {
      kind: statusOf(identity !== undefined, reasons),
      reasons: identity === undefined ? [] : reasons,
    },
    verify_exit: verdict.exit,
  }
}

function statusOf(exists: boolean, reasons: readonly string[]): string {
  if (!exists) return 'no_store'
  if (reasons.length === 0) return 'live'
  return reasons.includes('history') ? 'incomplete' : 'degraded'
}

async function search(
  history: SegmentSet,
  signal: AbortSignal | undefined,
): Promise<{ document: CheckpointDocument | undefined; rejected: number }> {
  return await runWork(searchCheckpoint(history), signal)
}

/** A fold that begins at a checkpoint, or else at the first segment. */
function foldFrom(
  base: CheckpointDocument | undefined,
  first: number,
  onRecord: (record: FoldedRecord) => void,
): Fold<Entity> {
  const start: FoldStart =
    base === undefined
      ? { after: first - 1 }
      : {
          head: headOf(base.header),
          registryAuthoritative: base.header.capabilities.includes(registryCapability),
        }
  const images = { of: ({ record }: SegmentLine) => upsertedEntity(record) }
  const fold = new Fold<Entity>(images, start, { countsDuplicates: true, onRecord })
  if (base === undefined) return fold
  for (const entity of checkpointEntities(base))
    fold.load(entity.item_type, entity.item_id, entity, entity.entity_rev)
  for (const revision of base.header.revisions) fold.loadRevision(revision)
  return fold
}

async function foldSegments(
  history: SegmentSet,
  base: CheckpointDocument | undefined,
  fold: Fold<Entity>,
  options: PassOptions,
): Promise<void> {
  const pace = new PassPacer(options)
  pace.expect(segmentBytes(history.eventsDir, history.listing))
  const begin = base === undefined ? { segment: 0, offset: 0 } : tailStart(history, base)
  for (const { number } of history.segments) {
    if (number < begin.segment) continue
    const bytes = history.read(number, content => {
      const offset = number === begin.segment ? begin.offset : 0
      const reader = new SegmentReader(fold, { offset })
      for (const chunk of content.chunks({ from: offset })) reader.push(chunk)
      // At the end of the newest segment a transaction may still be completed.
      if (number !== history.newest) reader.finish()
      return content.storedBytes
    })
    pace.advance(bytes ?? 0)
    await nextTurn(options.signal)
    await pace.turn(bytes ?? 0)
  }
}

/** The place after the last line with a checkpoint's head; if there is none, the first segment above it. */
function tailStart(history: SegmentSet, document: CheckpointDocument): { segment: number; offset: number } {
  const { head_seq } = document.header
  const boundary = history.holding(head_seq) ?? 0
  for (const { number } of history.segments.toReversed()) {
    if (number < boundary) break
    const offset = history.read(number, content => afterHead(content, document))
    if (offset !== undefined) return { segment: number, offset }
  }
  return { segment: head_seq + 1, offset: 0 }
}

function afterHead(content: FileContent, { header }: CheckpointDocument): number | undefined {
  let after: number | undefined
  readSegment(() => content.chunks(), {
    valid({ record: { seq, writer }, offset, length }) {
      if (seq === header.head_seq && (writer ?? null) === header.head_writer) after = offset + length + 1
      return true
    },
  })
  return after
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
