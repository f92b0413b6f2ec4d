/** Which checkpoint a journal vouches for: table C of `spec/recovery.md`. */
import { type CheckpointHeader, type CheckpointRef, parseCheckpointRef } from './checkpoint.js'
import { KimError } from './errors.js'
import type { Slices } from './event-loop.js'
import type { LineFrame } from './line-frame.js'
import type { ReadRecord } from './record.js'
import { type RestartListener, recordOf, type SegmentLine } from './segment-reader.js'

/** What a `checkpoint_ref` says, and the seq of its record. */
export interface FoundRef {
  readonly ref: CheckpointRef
  readonly seq: number
}

/** Collects what the `checkpoint_ref` records of a segment say: the listener of its reader. */
export class CheckpointRefs implements RestartListener {
  found: FoundRef[] = []

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
    this.found = []
  }

  #take({ action, payload, seq }: ReadRecord): void {
    if (action !== 'checkpoint_ref') return
    const ref = parseCheckpointRef(payload)
    if (ref !== undefined) this.found.push({ ref, seq })
  }
}

/** A checkpoint file that was read whole, and whose document has no fault of its own. */
export interface CheckpointFile {
  readonly name: string
  readonly header: CheckpointHeader
  readonly bytes: number
  readonly sha256: string
}

/** Why a ref does not vouch for a file; undefined if it does. `projectId` is the one that the journal states, if it does. */
export function refFault(
  { ref, seq }: FoundRef,
  { name, header, bytes, sha256 }: CheckpointFile,
  projectId: string | undefined,
): 'digest' | 'head' | 'count' | 'project' | undefined {
  if (bytes !== ref.bytes || sha256 !== ref.sha256) return 'digest'
  if (ref.file !== name || ref.head_seq !== header.head_seq || seq <= header.head_seq) return 'head'
  if (ref.entities !== header.entity_count) return 'count'
  return projectId === undefined || projectId === header.project_id ? undefined : 'project'
}

/** Candidates in the order in which a search tries them: live before archived, each from the newest down. */
export function inSearchOrder<Candidate extends { readonly headSeq: number }>(
  live: readonly Candidate[],
  archived: readonly Candidate[],
): Candidate[] {
  return [live, archived].flatMap(each => each.toSorted((a, b) => b.headSeq - a.headSeq))
}

/** How a search reads the files of a journal. */
export interface CheckpointSource<Candidate, File extends CheckpointFile, Segment> {
  /** Reads a candidate whole, in slices; undefined if it is no checkpoint of this version under its right name. */
  read(candidate: Candidate): Slices<File | undefined>
  /** The segments that may hold a ref of a checkpoint with this head, in the order in which to look. */
  segmentsFor(headSeq: number): readonly Segment[]
  /** Reports the records of a segment. */
  scan(segment: Segment, refs: CheckpointRefs): void
}

/** A checkpoint file, and the seq of a record that vouches for it. */
export interface VouchedCheckpoint<File extends CheckpointFile> {
  readonly file: File
  readonly refSeq: number
}

/** Finds out which checkpoints the journal vouches for. It reads no segment twice. */
export class CheckpointVerifier<
  Candidate extends { readonly headSeq: number },
  File extends CheckpointFile,
  Segment,
> {
  readonly #source: CheckpointSource<Candidate, File, Segment>
  readonly #projectId: string | undefined
  readonly #refs = new Map<Segment, readonly FoundRef[]>()

  constructor(source: CheckpointSource<Candidate, File, Segment>, projectId: string | undefined) {
    this.#source = source
    this.#projectId = projectId
  }

  /** The first verified candidate, and those that were rejected before it. Give them in the order of a search. */
  *newest(
    candidates: Iterable<Candidate>,
  ): Slices<{ readonly found?: VouchedCheckpoint<File>; readonly rejected: readonly Candidate[] }> {
    const rejected: Candidate[] = []
    for (const candidate of candidates) {
      try {
        const found = yield* this.verify(candidate)
        if (found !== undefined) return { found, rejected }
      } catch (error) {
        // A candidate that cannot be read is one candidate less; a dying disk will say so again at the segments.
        if (!(error instanceof KimError)) throw error
      }
      rejected.push(candidate)
    }
    return { rejected }
  }

  /** The file of a candidate, if a ref vouches for it. Yields between segments. */
  *verify(candidate: Candidate): Slices<VouchedCheckpoint<File> | undefined> {
    const file = yield* this.#source.read(candidate)
    if (file === undefined) return undefined
    for (const segment of this.#source.segmentsFor(candidate.headSeq)) {
      const isRead = this.#refs.has(segment)
      const vouching = this.#refsIn(segment).findLast(
        ref => refFault(ref, file, this.#projectId) === undefined,
      )
      if (vouching !== undefined) return { file, refSeq: vouching.seq }
      if (!isRead) yield
    }
    return undefined
  }

  #refsIn(segment: Segment): readonly FoundRef[] {
    const known = this.#refs.get(segment)
    if (known !== undefined) return known
    const refs = new CheckpointRefs()
    this.#source.scan(segment, refs)
    this.#refs.set(segment, refs.found)
    return refs.found
  }
}
