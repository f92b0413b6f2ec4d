/** The one search for a verified checkpoint: table C of the recovery page. */
import { CheckpointRefs, type FoundRef } from '@kim/manifest'
import type { CheckpointEntry, StoreListing } from '../store/listing.js'
import { type CheckpointDocument, readCheckpoint, vouches } from './checkpoint-document.js'
import type { SegmentScanner } from './segment-scan.js'
import type { SegmentSet } from './segment-set.js'

/** The outcome of a search. */
export interface CheckpointSearch {
  readonly document: CheckpointDocument | undefined
  /** Candidates that failed before it, or all of them. */
  readonly rejected: number
}

/** Looks for the newest verified checkpoint; those with a refused head count as rejected. Yields between segments. */
export function* searchCheckpoint(
  history: SegmentSet,
  scanner: SegmentScanner,
  projectId: string | undefined,
  refused: ReadonlySet<number>,
): Generator<void, CheckpointSearch> {
  const verifier = new CheckpointVerifier(history, scanner, projectId)
  let rejected = 0
  for (const candidate of newestFirst(history.listing)) {
    const document = refused.has(candidate.headSeq) ? undefined : yield* verifier.verify(candidate)
    if (document !== undefined) return { document, rejected }
    rejected += 1
  }
  return { document: undefined, rejected }
}

/** Live ones first, then the archived ones, each from the newest down. */
function newestFirst({ checkpoints, shadowed }: StoreListing): CheckpointEntry[] {
  const live = checkpoints.filter(({ place }) => place === 'live')
  const archived = checkpoints.filter(({ place }) => place === 'archive')
  return [live, [...archived, ...shadowed]].flatMap(each => each.sort((a, b) => b.headSeq - a.headSeq))
}

/** Verifies one candidate after the other: a ref in the journal must vouch for it. Reads each segment once. */
export class CheckpointVerifier {
  readonly #history: SegmentSet
  readonly #scanner: SegmentScanner
  readonly #projectId: string | undefined
  readonly #refs = new Map<number, readonly FoundRef[]>()

  constructor(history: SegmentSet, scanner: SegmentScanner, projectId: string | undefined) {
    this.#history = history
    this.#scanner = scanner
    this.#projectId = projectId
  }

  /** The document of a candidate, if a ref vouches for it. Yields between segments. */
  *verify(candidate: CheckpointEntry): Generator<void, CheckpointDocument | undefined> {
    const document = readCheckpoint(this.#history.eventsDir, candidate)
    if (document === undefined) return undefined
    const { head_seq } = document.header
    for (const number of this.#segmentsFor(head_seq)) {
      const isRead = this.#refs.has(number)
      const refs = this.#refsIn(number)
      if (refs.some(({ ref, seq }) => seq > head_seq && vouches(ref, document, this.#projectId)))
        return document
      if (!isRead) yield
    }
    return undefined
  }

  /**
   * A ref comes after what its checkpoint covers, most often soon. The segment that holds the head is looked into last:
   * a checkpoint most often ends with a whole segment.
   */
  #segmentsFor(headSeq: number): number[] {
    const home = this.#history.holding(headSeq) ?? 0
    const numbers = this.#history.segments.map(({ number }) => number)
    return [...numbers.filter(number => number > home), ...numbers.filter(number => number === home)]
  }

  #refsIn(number: number): readonly FoundRef[] {
    const known = this.#refs.get(number)
    if (known !== undefined) return known
    const refs = new CheckpointRefs()
    this.#history.read(number, content => this.#scanner.scan(content, refs))
    this.#refs.set(number, refs.found)
    return refs.found
  }
}
