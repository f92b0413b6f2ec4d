/** The newest verified checkpoint that a passage can begin with. */
import {
  type Entity,
  type LineFrame,
  parseCheckpointEntity,
  parseCheckpointRef,
  type ReadRecord,
  readSegment,
  recordOf,
  registryCapability,
  type SegmentLine,
} from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { CheckpointEntry } from '../store/listing.js'
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
  const offset = history.read(home, content => {
    let after: number | undefined
    const note = (seq: number, end: number): void => {
      if (seq === headSeq) after = end + 1
    }
    const listener = {
      framed: ({ seq, from, to }: LineFrame, at: number) => note(seq, at + to - from),
      valid({ record, offset, length }: SegmentLine) {
        note(record.seq, offset + length)
        return true
      },
      restart() {
        after = undefined
      },
    }
    readSegment(() => content.chunks(), listener, { isLazy: true })
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

/** The refs of a segment that have effect. */
function refsIn(content: FileContent): ReadRecord[] {
  let refs: ReadRecord[] = []
  const take = (record: ReadRecord | undefined): void => {
    if (record?.action === 'checkpoint_ref') refs.push(record)
  }
  const listener = {
    framed(frame: LineFrame): void {
      // Every verb of the ref's length is rare enough to be parsed.
      if (frame.actionEnd - frame.actionStart === 'checkpoint_ref'.length) take(recordOf(frame.line))
    },
    released: ({ record }: SegmentLine): void => take(record),
    restart(): void {
      refs = []
    },
  }
  readSegment(() => content.chunks(), listener, { isLazy: true })
  return refs
}
