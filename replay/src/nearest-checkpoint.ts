/** The newest verified checkpoint that a passage can begin with. */
import { type LineFrame, nextTurn, readSegment, registryCapability, type SegmentLine } from '@kim/manifest'
import {
  type CheckpointDocument,
  checkpointEntities,
  checkpointVerifier,
  type SegmentSet,
} from '@kim/observer-sdk/history'
import type { CopiedJournal } from './copied-journal.js'
import type { Mark } from './line-walk.js'
import type { ReadingStart } from './reading.js'
import { runWork } from './run-work.js'

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

/** Of the candidates that are wanted, the first verified one. */
export async function nearestCheckpoint(
  { history }: CopiedJournal,
  { covers, ends, isOldest }: Wanted,
  signal: AbortSignal | undefined,
): Promise<Base | undefined> {
  const verifier = checkpointVerifier(history)
  const { checkpoints, shadowed } = history.listing
  const candidates = [...checkpoints, ...shadowed].sort((a, b) =>
    isOldest === true ? a.headSeq - b.headSeq : b.headSeq - a.headSeq,
  )
  for (const candidate of candidates) {
    if (!covers(candidate.headSeq, history.holding(candidate.headSeq) ?? 0)) continue
    await nextTurn(signal)
    const tail = tailOf(history, candidate.headSeq)
    if (ends?.(tail) === false) continue
    const verified = await runWork(verifier.verify(candidate), signal)
    if (verified !== undefined) return { document: verified.file, tail }
  }
  return undefined
}

/** What a reading begins with that has this base, or none. */
export function startFrom(base: Base | undefined, { first }: CopiedJournal): ReadingStart {
  if (base === undefined) return { after: first - 1 }
  const { header } = base.document
  return {
    after: header.head_seq,
    entities: checkpointEntities(base.document),
    registryAuthoritative: header.capabilities.includes(registryCapability),
  }
}

/** After the last line with this seq in the segment that is to hold it; else that segment's end. */
function tailOf(history: SegmentSet, headSeq: number): Mark {
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
