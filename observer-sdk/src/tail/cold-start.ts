/** A cold start: what the journal holds now, folded forward from the newest verified checkpoint, most lines unparsed. */
import {
  type AnomalyKind,
  EntityLineMatcher,
  type Head,
  type ReadRecord,
  registryCapability,
  type SegmentLine,
  SegmentReader,
} from '@kim/manifest'
import { type CheckpointDocument, type CheckpointSearch, searchCheckpoint } from './checkpoints.js'
import { ColdScan } from './cold-scan.js'
import { type BytePosition, ORIGIN } from './journal-reader.js'
import type { SegmentSet } from './segment-set.js'
import type { Flaw, FoldedLines } from './stored-image.js'

/** The journal at one place. */
export interface Snapshot extends FoldedLines {
  /** The highest seq among the valid records and its writer; 0 and null if there is none. */
  readonly head: Head
  /** Head of the newest verified checkpoint; 0 if there is none. */
  readonly checkpointSeq: number
  readonly registryAuthoritative: boolean
  /** True if history before the first available record is missing and no checkpoint covers it. */
  readonly historyGone: boolean
  /** Whether old lines are being rewritten: what was derived of them may be out of date once that ended. */
  readonly redactionPending: boolean
  /** The id the journal states. */
  readonly projectId: string | undefined
  /** Anomalies of the part that was read. */
  readonly counts: ReadonlyMap<AnomalyKind, number>
  /** How many files could not be read. */
  readonly unreadable: number
  /** Whether the end of the journal is there and cannot be read. */
  readonly isEndHidden: boolean
  /** How many files were listed in a shape in which they cannot be read. */
  readonly failures: number
  /** The newest activity of the part that was read, oldest first; parsed when asked for. */
  readonly activity: () => readonly ReadRecord[]
  /** Where reading goes on. */
  readonly end: BytePosition
  /** The highest seq of each segment that was read. */
  readonly peaks: ReadonlyMap<number, number>
}

/** What was found not to be what it seemed, and where to stop. */
export interface DeriveLimits {
  readonly flaws?: readonly Flaw[]
  /** Nothing at or after this place is taken. */
  readonly until?: BytePosition | undefined
}

/** Why an attempt has to be made again. */
type Outcome =
  | 'whole'
  /** A segment is not what it seemed unparsed. */
  | 'doubted'
  /** The checkpoint holds a line that is no entity. */
  | 'refused'
  /** The line that ends the checkpoint is there more than once. */
  | 'repeated'
  /** A file that was read is missing now. */
  | 'vanished'

/** Attempts that each doubt one more segment; after them every line of the journal is parsed. */
const DOUBTS_MAX = 4

/** Derives a snapshot; yields between segments, so that a host can breathe. */
export function* derive(
  history: SegmentSet,
  { flaws = [], until }: DeriveLimits = {},
): Generator<void, Snapshot> {
  const doubted = new Set<number>()
  const refused = new Set<number>()
  for (const flaw of flaws) {
    if ('checkpoint' in flaw) refused.add(flaw.checkpoint)
    else doubted.add(flaw.segment)
  }
  let mayShorten = true
  let tailFrom: BytePosition | undefined
  for (let doubts = 0; ; ) {
    const search: CheckpointSearch = yield* searchCheckpoint(history, refused)
    const attempt = new Attempt(history, search, { doubted, until, mayShorten, tailFrom })
    const outcome = yield* attempt.run()
    switch (outcome) {
      case 'whole':
        return attempt.snapshot()
      case 'refused':
        refused.add(attempt.checkpointSeq)
        break
      case 'doubted':
        doubts += 1
        doubted.add(attempt.segment)
        if (doubts > DOUBTS_MAX) for (const { number } of history.segments) doubted.add(number)
        break
      case 'repeated':
        // If all history is there the checkpoint is not needed. Otherwise its tail begins at the last such line.
        if (attempt.isWhole) mayShorten = false
        else tailFrom = yield* attempt.lastHead()
        break
      case 'vanished':
        break
    }
  }
}

/** What one attempt knows from those before it. */
interface Known {
  readonly doubted: ReadonlySet<number>
  readonly until: BytePosition | undefined
  readonly mayShorten: boolean
  /** Where the line that ends the checkpoint begins, if it is there more than once. */
  readonly tailFrom: BytePosition | undefined
}

/** One way through the segments, with no line of a doubted one taken unparsed. */
class Attempt {
  /** The segment that was read last. */
  segment = 0
  readonly #history: SegmentSet
  readonly #search: CheckpointSearch
  readonly #known: Known
  readonly #base: CheckpointDocument | undefined
  readonly #scan: ColdScan
  readonly #isGone: boolean
  readonly #peaks = new Map<number, number>()
  #end: BytePosition

  constructor(history: SegmentSet, search: CheckpointSearch, known: Known) {
    this.#history = history
    this.#search = search
    this.#known = known
    this.#end = known.until ?? ORIGIN
    const { document } = search
    // Where a checkpoint covers everything before the live segments, the archived ones need not be opened to see
    // whether they can be read.
    const live = history.segments.find(({ place }) => place === 'live')?.number
    const headSeq = document?.header.head_seq ?? -1
    const first = live !== undefined && headSeq >= live - 1 ? live : (history.first() ?? 1)
    const isCovered = headSeq >= first - 1
    this.#isGone = first > 1 && !isCovered
    this.#base = isCovered && (known.mayShorten || !this.isWhole) ? document : undefined
    this.#scan = new ColdScan(this.#base?.header)
  }

  get checkpointSeq(): number {
    return this.#search.document?.header.head_seq ?? 0
  }

  /** True if all history is available, so that a checkpoint only shortens the way. */
  get isWhole(): boolean {
    return (this.#history.first() ?? 1) === 1
  }

  *run(): Generator<void, Outcome> {
    const { until, tailFrom } = this.#known
    if (this.#base !== undefined && !this.#adopt(this.#base)) return 'refused'
    const boundary =
      this.#base && (tailFrom?.segment ?? this.#history.holding(this.#base.header.head_seq) ?? 0)
    for (const { number } of this.#history.segments) {
      if (boundary !== undefined && number < boundary) continue
      if (until !== undefined && number > until.segment) break
      this.segment = number
      this.#scan.begin(number === boundary, tailFrom?.offset)
      if (!this.#read(number) || this.#scan.isFlawed) return 'doubted'
      if (this.#scan.isHeadRepeated) return 'repeated'
      yield
    }
    return (yield* this.#scan.lines.load(this.#scan.fold.entities, this.#history)) ? 'whole' : 'vanished'
  }

  /** Where the last line begins that the checkpoint ends with. */
  *lastHead(): Generator<void, BytePosition | undefined> {
    for (const { number } of this.#history.segments.toReversed()) {
      let found: number | undefined
      const valid = ({ record, offset }: SegmentLine): true => {
        if (this.#scan.isHead(record.seq, record.writer)) found = offset
        return true
      }
      this.#history.read(number, content => this.#history.pass(content, new SegmentReader({ valid })))
      if (found !== undefined) return { segment: number, offset: found, peak: 0 }
      yield
    }
    return undefined
  }

  snapshot(): Snapshot {
    const { isEndHidden, listing, statedId: projectId, unreadable } = this.#history
    const { activity, counts, fold, head, lines, redactionPending } = this.#scan
    const header = this.#base?.header
    if (this.#search.rejected > 0) counts.set('checkpoint_rejected', this.#search.rejected)
    if (listing.misnamed.length > 0) counts.set('segment_misnamed', listing.misnamed.length)
    if (this.#isGone) fold.see((this.#history.first() ?? 1) - 1)
    fold.beginLive()
    return {
      fold,
      lines,
      head: head ?? { seq: header?.head_seq ?? 0, writer: header?.head_writer ?? null },
      checkpointSeq: this.checkpointSeq,
      registryAuthoritative:
        fold.registryAuthoritative || header?.capabilities.includes(registryCapability) === true,
      historyGone: this.#isGone,
      redactionPending,
      projectId,
      counts,
      unreadable,
      isEndHidden,
      failures: listing.failures.length,
      activity: () => activity.records(),
      end: this.#end,
      peaks: this.#peaks,
    }
  }

  /** Takes the state of a checkpoint; false if a line of it is no entity. */
  #adopt(document: CheckpointDocument): boolean {
    const { fold, lines } = this.#scan
    const { entities } = fold
    const matcher = new EntityLineMatcher()
    const { content, header, lines: places } = document
    lines.beginCheckpoint(header.head_seq, content)
    for (let at = 0; at < places.length; at += 2) {
      const from = places[at] as number
      const to = places[at + 1] as number
      if (!matcher.match(content, from, to)) return false
      const image = lines.addEntity(from, to)
      entities.put(entities.takeKey(matcher), image, matcher.revision < 0 ? undefined : matcher.revision)
    }
    return true
  }

  /** False if the segment is not what it seemed unparsed. */
  #read(number: number): boolean {
    const { until, doubted } = this.#known
    const reader = this.#history.read(number, content => {
      this.#scan.lines.beginSegment(number, content.identity)
      const lines = new SegmentReader(this.#scan, { isLazy: !doubted.has(number) })
      return this.#history.pass(content, lines, number === until?.segment ? until.offset : content.bytes)
    })
    if (reader?.isUnordered === true) return false
    if (reader !== undefined) this.#peaks.set(number, reader.peak)
    // Only the newest segment's transactions can still be completed.
    if (number !== this.#history.newest) reader?.finish()
    else if (until === undefined)
      this.#end = { segment: number, offset: reader?.resumeAt ?? 0, peak: reader?.peak ?? 0 }
    return true
  }
}
