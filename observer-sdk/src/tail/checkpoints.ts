/** The checkpoints of a journal: read into memory, and searched for one that the journal vouches for. */
import type { Buffer } from 'node:buffer'
import {
  type CheckpointFile,
  CheckpointReader,
  CheckpointVerifier,
  type Entity,
  inSearchOrder,
  parseCheckpointEntity,
  type Slices,
} from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { CheckpointEntry } from '../store/listing.js'
import type { SegmentSet } from './segment-set.js'

/** A checkpoint held in memory, its entity lines not parsed. */
export interface CheckpointDocument extends CheckpointFile {
  readonly content: Buffer
  /** Where each entity line begins and ends in it, without the comma: two numbers for each line. */
  readonly lines: readonly number[]
}

/** Reads a candidate; undefined if it is no checkpoint of this version under its right name. */
export function readCheckpoint(
  eventsDir: string,
  { headSeq, name, place }: CheckpointEntry,
): CheckpointDocument | undefined {
  const opened = openCheckpoint(eventsDir, headSeq, place === 'archive' ? 'archive' : undefined)
  if (!opened.ok) return undefined
  const file = opened.value
  try {
    const content = file.read(0, file.bytes)
    const lines: number[] = []
    const reader = new CheckpointReader(({ offset, length }) => lines.push(offset, offset + length))
    reader.push(content)
    const { header, bytes, sha256 } = reader
    if (header === undefined || file.failure !== undefined || reader.fault(headSeq) !== undefined)
      return undefined
    return { name, header, bytes, sha256, content, lines }
  } finally {
    file.close()
  }
}

/** The entities of a document; a line that is none is left out. */
export function* checkpointEntities({ content, lines }: CheckpointDocument): Generator<Entity> {
  for (let at = 0; at < lines.length; at += 2) {
    const entity = parseCheckpointEntity(content.toString('utf8', lines[at], lines[at + 1]))
    if (entity !== undefined) yield entity
  }
}

/** Verifies the checkpoints of a listing; one with a refused head is none. */
export function checkpointVerifier(
  history: SegmentSet,
  refused: ReadonlySet<number> = new Set(),
): CheckpointVerifier<CheckpointEntry, CheckpointDocument, number> {
  return new CheckpointVerifier(
    {
      *read(candidate): Slices<CheckpointDocument | undefined> {
        if (refused.has(candidate.headSeq)) return undefined
        const document = readCheckpoint(history.eventsDir, candidate)
        yield
        return document
      },
      // A ref comes after what its checkpoint covers, most often soon. The segment that holds the head is looked into
      // last: a checkpoint most often ends with a whole segment.
      segmentsFor(headSeq) {
        const home = history.holding(headSeq) ?? 0
        const numbers = history.segments.map(({ number }) => number).filter(number => number >= home)
        return [...numbers.filter(number => number > home), ...numbers.filter(number => number === home)]
      },
      scan: (number, refs) => void history.read(number, content => history.scan(content, refs)),
    },
    history.statedId,
  )
}

/** The newest verified checkpoint, and how many candidates failed before it, or in all. */
export interface CheckpointSearch {
  readonly document: CheckpointDocument | undefined
  readonly rejected: number
}

/** Looks for the newest verified checkpoint. Yields between segments. */
export function* searchCheckpoint(
  history: SegmentSet,
  refused?: ReadonlySet<number>,
): Slices<CheckpointSearch> {
  const { checkpoints, shadowed } = history.listing
  const candidates = inSearchOrder(
    checkpoints.filter(({ place }) => place === 'live'),
    [...checkpoints.filter(({ place }) => place === 'archive'), ...shadowed],
  )
  const verifier = checkpointVerifier(history, refused)
  const { found, rejected } = yield* verifier.newest(candidates)
  return { document: found?.file, rejected: rejected.length }
}
