/** The newest verified checkpoint that a passage can begin with. */
import {
  decodeLine,
  type Entity,
  parseCheckpointEntity,
  parseCheckpointRef,
  type ReadRecord,
  registryCapability,
  TxTracker,
} from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { CheckpointEntry } from '../store/listing.js'
import { segmentLines } from '../store/segment-lines.js'
import { type CheckpointDocument, entityLines, readCheckpoint, vouches } from '../tail/checkpoint-document.js'
import { breathe } from './breathe.js'
import type { CopiedJournal } from './copied-journal.js'
import type { Mark } from './line-walk.js'
import type { ReadingStart } from './reading.js'

/** A verified checkpoint, and where the lines after what it covers begin. */
export interface Base {
  readonly document: CheckpointDocument
  readonly tail: Mark
}

/** Which checkpoints are of use, said in two steps: the second needs the lines to be looked at. */
export interface Wanted {
  /** By its head, and the number of the segment that is to hold it. */
  readonly covers: (headSeq: number, home: number) => boolean
  readonly ends?: (tail: Mark) => boolean
  /** Candidates are tried from the oldest up; else from the newest down. */
  readonly isOldest?: boolean
}

/** Of the candidates that are wanted, the first one that a ref in the journal vouches for. */
export async function nearestCheckpoint(
  journal: CopiedJournal,
  { covers, ends, isOldest }: Wanted,
  signal: AbortSignal | undefined,
): Promise<Base | undefined> {
  const { checkpoints, shadowed } = journal.history.listing
  const candidates = [...checkpoints, ...shadowed].sort((a, b) =>
    isOldest === true ? a.headSeq - b.headSeq : b.headSeq - a.headSeq,
  )
  for (const candidate of candidates) {
    if (!covers(candidate.headSeq, journal.history.holding(candidate.headSeq) ?? 0)) continue
    await breathe(signal)
    const tail = tailOf(journal, candidate.headSeq)
    if (ends?.(tail) === false) continue
    const document = await verified(journal, candidate, signal)
    if (document !== undefined) return { document, tail }
  }
  return undefined
}

/** What a reading begins with that has this base, or none. */
export function startFrom(base: Base | undefined, { first }: CopiedJournal): ReadingStart {
  if (base === undefined) return { after: first - 1 }
  const { header } = base.document
  return {
    after: header.head_seq,
    entities: entitiesOf(base.document),
    registryAuthoritative: header.capabilities.includes(registryCapability),
  }
}

function* entitiesOf(document: CheckpointDocument): Generator<Entity> {
  for (const { from, to } of entityLines(document)) {
    const entity = parseCheckpointEntity(document.bytes.toString('utf8', from, to))
    if (entity !== undefined) yield entity
  }
}

/** After the last line with this seq in the segment that is to hold it; else that segment's end. */
function tailOf({ history }: CopiedJournal, headSeq: number): Mark {
  const home = history.holding(headSeq)
  if (home === undefined) return { segment: headSeq + 1, offset: 0 }
  const needle = Buffer.from(`"seq":${headSeq}`)
  const offset = history.read(home, content => {
    let after: number | undefined
    for (const line of segmentLines(content)) {
      if (line.kind !== 'line') continue
      const { buffer, byteOffset, length } = line.bytes
      if (!Buffer.from(buffer, byteOffset, length).includes(needle)) continue
      const decoded = decodeLine(line.bytes, line.atFileStart)
      if (decoded.kind === 'record' && decoded.record.seq === headSeq) after = line.offset + length + 1
    }
    return after
  })
  return offset === undefined ? { segment: home + 1, offset: 0 } : { segment: home, offset }
}

/** The ref of a checkpoint stands soon after what it covers, so it is looked for from there on. */
async function verified(
  journal: CopiedJournal,
  candidate: CheckpointEntry,
  signal: AbortSignal | undefined,
): Promise<CheckpointDocument | undefined> {
  const { history, statedId, eventsDir } = journal
  const document = readCheckpoint(eventsDir, candidate)
  if (document === undefined) return undefined
  const home = history.holding(candidate.headSeq) ?? 0
  for (const { number } of history.segments) {
    if (number < home) continue
    await breathe(signal)
    const vouched = history.read(number, content => {
      for (const { seq, payload } of refsIn(content)) {
        const ref = parseCheckpointRef(payload)
        if (ref !== undefined && seq > candidate.headSeq && vouches(ref, document, statedId)) return true
      }
      return false
    })
    if (vouched === true) return document
  }
  return undefined
}

const refVerb = Buffer.from('checkpoint_ref')

/** The refs of a segment that have effect. */
function* refsIn(content: FileContent): Generator<ReadRecord> {
  if (!mentionsRef(content)) return
  const runs = new TxTracker<ReadRecord>()
  for (const line of segmentLines(content)) {
    const decoded =
      line.kind === 'line' ? decodeLine(line.bytes, line.atFileStart) : ({ kind: 'malformed' } as const)
    if (decoded.kind === 'blank') continue
    if (decoded.kind !== 'record') runs.interrupt()
    else {
      for (const record of runs.record(decoded.record, decoded.record).released)
        if (record.action === 'checkpoint_ref') yield record
    }
  }
}

/** Whether the verb stands anywhere, by its bytes. A writer that spells it with escapes is none of ours. */
function mentionsRef(content: FileContent): boolean {
  let carried = Buffer.alloc(0)
  for (const chunk of content.chunks()) {
    if (
      chunk.includes(refVerb) ||
      Buffer.concat([carried, chunk.subarray(0, refVerb.length)]).includes(refVerb)
    )
      return true
    carried = Buffer.from(chunk.subarray(-refVerb.length))
  }
  return false
}
