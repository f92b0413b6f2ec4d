/** Which checkpoint is the verified one: table C of the recovery page, candidates newest first. */
import {
  type CheckpointRef,
  type LineFrame,
  parseCheckpointRef,
  type ReadRecord,
  type RestartListener,
  recordOf,
  type SegmentLine,
} from '@kim/manifest'
import type { CheckpointEntry, StoreListing } from '../store/listing.js'
import { type CheckpointDocument, readCheckpoint, vouches } from './checkpoint-document.js'
import type { History } from './history.js'
import type { SegmentScanner } from './segment-scan.js'

/** The outcome of a search. */
export interface CheckpointSearch {
  readonly document: CheckpointDocument | undefined
  /** Candidates that failed before it, or all of them. */
  readonly rejected: number
}

/** A ref with the seq of the record that holds it. */
interface FoundRef {
  readonly ref: CheckpointRef
  readonly seq: number
}

/**
 * Looks for the refs of a candidate from the newest segment down to the one that holds its head: a ref stands
 * after what the checkpoint covers. Yields between segments.
 */
export function* searchCheckpoint(
  history: History,
  scanner: SegmentScanner,
  projectId: string | undefined,
  refused: ReadonlySet<number>,
): Generator<void, CheckpointSearch> {
  const refs = new RefCollector()
  let next = history.segments.length - 1
  let rejected = 0
  for (const candidate of candidates(history.listing)) {
    const document = refused.has(candidate.headSeq) ? undefined : readCheckpoint(history.eventsDir, candidate)
    if (document !== undefined) {
      const lowest = history.holding(candidate.headSeq) ?? 0
      let vouched = isVouched(document, refs.found, projectId)
      for (; !vouched && next >= 0; next--) {
        const { number } = history.segments[next] as { number: number }
        if (number < lowest) break
        history.read(number, content => scanner.scan(content, refs))
        vouched = isVouched(document, refs.end(), projectId)
        yield
      }
      if (vouched) return { document, rejected }
    }
    rejected += 1
  }
  return { document: undefined, rejected }
}

/** Live ones first, then the archived ones, each from the newest down. */
function candidates({ checkpoints, shadowed }: StoreListing): CheckpointEntry[] {
  const live = checkpoints.filter(({ place }) => place === 'live')
  const archived = checkpoints.filter(({ place }) => place === 'archive')
  return [live, [...archived, ...shadowed]].flatMap(each => each.sort((a, b) => b.headSeq - a.headSeq))
}

function isVouched(
  document: CheckpointDocument,
  refs: readonly FoundRef[],
  projectId: string | undefined,
): boolean {
  return refs.some(({ ref, seq }) => seq > document.header.head_seq && vouches(ref, document, projectId))
}

/** Collects what `checkpoint_ref` records say. */
class RefCollector implements RestartListener {
  readonly found: FoundRef[] = []
  #inSegment: FoundRef[] = []

  /** The refs of the segment that was just told. */
  end(): readonly FoundRef[] {
    const found = this.#inSegment
    this.found.push(...found)
    this.#inSegment = []
    return found
  }

  framed(frame: LineFrame): void {
    // Every verb of the ref's length is rare enough to be parsed.
    if (frame.actionEnd - frame.actionStart !== 'checkpoint_ref'.length) return
    const record = recordOf(frame.line)
    if (record !== undefined) this.#take(record)
  }

  released({ record }: SegmentLine): void {
    this.#take(record)
  }

  restart(): void {
    this.#inSegment = []
  }

  #take({ action, payload, seq }: ReadRecord): void {
    if (action !== 'checkpoint_ref') return
    const ref = parseCheckpointRef(payload)
    if (ref !== undefined) this.#inSegment.push({ ref, seq })
  }
}
