/** The one search for a verified checkpoint: table C of the recovery page. */
import { Buffer, isUtf8 } from 'node:buffer'
import {
  afterCheckpointHeader,
  type CheckpointHeader,
  type CheckpointRef,
  CheckpointRefs,
  checkpointFooter,
  type Entity,
  type FoundRef,
  parseCheckpointEntity,
  parseCheckpointHeader,
  sha256Hex,
  verifyHeader,
} from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { CheckpointEntry, StoreListing } from '../store/listing.js'
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
  refused: ReadonlySet<number> = new Set(),
): Generator<void, CheckpointSearch> {
  const verifier = new CheckpointVerifier(history)
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
  readonly #refs = new Map<number, readonly FoundRef[]>()

  constructor(history: SegmentSet) {
    this.#history = history
  }

  /** The document of a candidate, if a ref vouches for it. Yields between segments. */
  *verify(candidate: CheckpointEntry): Generator<void, CheckpointDocument | undefined> {
    const document = readCheckpoint(this.#history.eventsDir, candidate)
    if (document === undefined) return undefined
    const { head_seq } = document.header
    for (const number of this.#segmentsFor(head_seq)) {
      const isRead = this.#refs.has(number)
      const refs = this.#refsIn(number)
      if (refs.some(({ ref, seq }) => seq > head_seq && vouches(ref, document, this.#history.statedId)))
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
    this.#history.read(number, content => this.#history.scan(content, refs))
    this.#refs.set(number, refs.found)
    return refs.found
  }
}

const LINE_FEED = 0x0a
const COMMA = 0x2c
const FOOTER = Buffer.from(`${checkpointFooter}\n`)

/** A checkpoint file held in memory, its header parsed and its entity lines not. */
export interface CheckpointDocument {
  readonly name: string
  readonly header: CheckpointHeader
  readonly bytes: Buffer
  /** Where the first entity line begins. */
  readonly entitiesFrom: number
  /** Where the footer begins. */
  readonly entitiesTo: number
}

/** Reads a candidate; undefined if it is no checkpoint of this version under its right name. */
export function readCheckpoint(eventsDir: string, entry: CheckpointEntry): CheckpointDocument | undefined {
  const opened = openCheckpoint(eventsDir, entry.headSeq, entry.place === 'archive' ? 'archive' : undefined)
  if (!opened.ok) return undefined
  const content = opened.value
  try {
    const bytes = content.read(0, content.bytes)
    if (content.failure !== undefined || !isUtf8(bytes)) return undefined
    const entitiesFrom = afterCheckpointHeader(bytes)
    const entitiesTo = bytes.length - FOOTER.length
    if (entitiesFrom < 0 || entitiesTo < entitiesFrom || !bytes.subarray(entitiesTo).equals(FOOTER))
      return undefined
    const parsed = parseCheckpointHeader(bytes.toString('utf8', 0, entitiesFrom - 1))
    if (!parsed.ok || parsed.header.head_seq !== entry.headSeq) return undefined
    return { name: entry.name, header: parsed.header, bytes, entitiesFrom, entitiesTo }
  } finally {
    content.close()
  }
}

/** The place of each entity line, its comma left off. */
export function* entityLines(
  document: CheckpointDocument,
): Generator<{ readonly from: number; readonly to: number }> {
  const { bytes, entitiesFrom, entitiesTo } = document
  for (let from = entitiesFrom; from < entitiesTo; ) {
    const end = bytes.indexOf(LINE_FEED, from)
    yield { from, to: bytes[end - 1] === COMMA ? end - 1 : end }
    from = end + 1
  }
}

/** The entities of a document; a line that is none is left out. */
export function* checkpointEntities(document: CheckpointDocument): Generator<Entity> {
  for (const { from, to } of entityLines(document)) {
    const entity = parseCheckpointEntity(document.bytes.toString('utf8', from, to))
    if (entity !== undefined) yield entity
  }
}

/** Whether this ref vouches for the document; the document's hash is taken only if everything else agrees. */
function vouches(ref: CheckpointRef, document: CheckpointDocument, projectId: string | undefined): boolean {
  const { header, bytes, name } = document
  if (ref.file !== name || ref.bytes !== bytes.length) return false
  const facts = { projectId, ref, bytes: bytes.length, lines: header.entity_count, sha256: ref.sha256 }
  if (verifyHeader(header, facts) !== undefined) return false
  let lines = 0
  for (const _ of entityLines(document)) lines += 1
  return lines === header.entity_count && sha256Hex(bytes) === ref.sha256
}
