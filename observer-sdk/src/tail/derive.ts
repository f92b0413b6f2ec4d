/** A cold start: what the journal holds now, found by reading its segments backwards. */
import type { AnomalyKind, Head, ReadRecord } from '@kim/manifest'
import { registryCapability } from '@kim/manifest'
import type { Base, Flaw } from './base.js'
import type { CheckpointDocument } from './checkpoint-document.js'
import { type CheckpointSearch, searchCheckpoint } from './checkpoint-search.js'
import { ColdScan } from './cold-scan.js'
import type { History } from './history.js'
import { ORIGIN, type Position } from './position.js'
import { statedProjectId } from './project-id.js'
import { type ScanEnd, SegmentScanner } from './segment-scan.js'

/** The journal at one place. */
export interface Snapshot {
  readonly base: Base
  /** The highest seq among the valid records and its writer; 0 and null if there is none. */
  readonly head: Head
  /** The highest seq that continuity goes on from. */
  readonly highest: number
  /** Head of the newest verified checkpoint; 0 if there is none. */
  readonly checkpointSeq: number
  readonly registryAuthoritative: boolean
  /** True if history before the first available record is gone and no checkpoint covers it. */
  readonly historyGone: boolean
  /** Whether old lines are being rewritten: what was derived of them may be out of date once that ended. */
  readonly redactionPending: boolean
  /** The id the journal states. */
  readonly projectId: string | undefined
  /** Anomalies of the part that was read. */
  readonly counts: ReadonlyMap<AnomalyKind, number>
  /** How many files are there that could not be read. */
  readonly unreadable: number
  /** Whether the end of the journal is there and cannot be read. */
  readonly isEndHidden: boolean
  /** How many files were listed in a shape in which they cannot be read. */
  readonly failures: number
  /** The newest activity of the part that was read, oldest first; parsed when asked for. */
  readonly activity: () => readonly ReadRecord[]
  /** Where reading goes on. */
  readonly end: Position
  /** The highest seq of each segment that was read. */
  readonly peaks: ReadonlyMap<number, number>
}

/** What was found not to be what it seemed, and where to stop. */
export interface DeriveLimits {
  readonly flaws?: readonly Flaw[]
  /** Nothing at or after this place is taken. */
  readonly until?: Position | undefined
}

/** Derives a snapshot; yields between segments, so that a host can breathe. */
export function* derive(
  history: History,
  { flaws = [], until }: DeriveLimits = {},
): Generator<void, Snapshot> {
  // Where one line was not what it seemed, any other may not be either: finding them one by one would take a pass each.
  const doubted = new Set<number>()
  const refused = new Set<number>()
  for (const flaw of flaws) {
    if ('checkpoint' in flaw) refused.add(flaw.checkpoint)
    else doubted.add(flaw.segment)
  }
  const scanner = new SegmentScanner()
  const projectId = statedProjectId(history)
  for (let mayShorten = true; ; ) {
    const search: CheckpointSearch = yield* searchCheckpoint(history, scanner, projectId, refused)
    const attempt = new Attempt(history, scanner, search, doubted, until, mayShorten)
    const outcome = yield* attempt.run()
    if (outcome === 'refused') refused.add(attempt.checkpointSeq)
    else if (outcome === 'ambiguous') mayShorten = false
    else if (outcome === 'flawed') for (const segment of attempt.scan.flawed) doubted.add(segment)
    else return attempt.snapshot(projectId)
  }
}

/** One way through the segments, with no line of a doubted one taken unread. */
class Attempt {
  readonly scan: ColdScan = new ColdScan()
  readonly #history: History
  readonly #scanner: SegmentScanner
  readonly #search: CheckpointSearch
  readonly #base: CheckpointDocument | undefined
  readonly #doubted: ReadonlySet<number>
  readonly #until: Position | undefined
  readonly #gone: boolean
  readonly #peaks = new Map<number, number>()
  #end: Position

  constructor(
    history: History,
    scanner: SegmentScanner,
    search: CheckpointSearch,
    doubted: ReadonlySet<number>,
    until: Position | undefined,
    mayShorten: boolean,
  ) {
    this.#doubted = doubted
    this.#history = history
    this.#scanner = scanner
    this.#search = search
    this.#until = until
    const first = firstToMatter(history, search.document)
    const covered = search.document !== undefined && search.document.header.head_seq >= first - 1
    this.#gone = first > 1 && !covered
    this.#base = covered && (mayShorten || !this.#isWhole()) ? search.document : undefined
    this.#end = until ?? ORIGIN
  }

  get checkpointSeq(): number {
    return this.#search.document?.header.head_seq ?? 0
  }

  *run(): Generator<void, 'whole' | 'flawed' | 'refused' | 'ambiguous'> {
    const header = this.#base?.header
    const boundary = header === undefined ? undefined : this.#history.holding(header.head_seq)
    const after = header === undefined ? undefined : { seq: header.head_seq, writer: header.head_writer }
    for (const { number } of this.#history.segments.toReversed()) {
      if (boundary !== undefined && number < boundary) break
      if (this.#until !== undefined && number > this.#until.segment) continue
      this.scan.begin(number, after, boundary === undefined || number > boundary)
      this.#read(number)
      const isFirst = this.scan.end()
      if (this.scan.flawed.size > 0) return 'flawed'
      if (isFirst && number !== boundary) {
        // The head's seq and writer stand again above it. Without need of the checkpoint, all lines decide.
        if (this.#isWhole()) return 'ambiguous'
        break
      }
      yield
    }
    if (this.#base !== undefined && !this.scan.claims.adopt(this.#base)) return 'refused'
    return 'whole'
  }

  snapshot(projectId: string | undefined): Snapshot {
    const { scan } = this
    const header = this.#base?.header
    if (this.#search.rejected > 0) scan.counts.set('checkpoint_rejected', this.#search.rejected)
    const misnamed = this.#history.listing.misnamed.length
    if (misnamed > 0) scan.counts.set('segment_misnamed', misnamed)
    const before = header?.head_seq ?? (this.#gone ? (this.#history.first() ?? 1) - 1 : 0)
    return {
      base: scan.claims.finish(),
      head: scan.head ?? { seq: header?.head_seq ?? 0, writer: header?.head_writer ?? null },
      highest: Math.max(before, scan.highest),
      checkpointSeq: this.checkpointSeq,
      registryAuthoritative:
        scan.registryAuthoritative || header?.capabilities.includes(registryCapability) === true,
      historyGone: this.#gone,
      redactionPending: scan.redactionPending === true,
      projectId,
      counts: scan.counts,
      unreadable: this.#history.unreadable,
      isEndHidden: this.#history.isEndHidden,
      failures: this.#history.listing.failures.length,
      activity: () => scan.activity.records(),
      end: this.#end,
      peaks: this.#peaks,
    }
  }

  /** True if all history is there, so that a checkpoint only shortens the way. */
  #isWhole(): boolean {
    return (this.#history.first() ?? 1) === 1
  }

  #read(number: number): void {
    const { newest } = this.#history
    const until = number === this.#until?.segment ? this.#until.offset : undefined
    const end = this.#history.read(number, content =>
      this.#doubted.has(number)
        ? this.#scanner.scanWhole(content, this.scan, until)
        : this.#scanner.scan(content, this.scan, until),
    )
    if (end !== undefined) this.#peaks.set(number, end.peak)
    if (number === newest && this.#until === undefined) this.#end = placeOf(number, end)
    // Only the newest segment's transactions can still be completed.
    else if (number !== newest) this.scan.dropped(end?.open ?? [])
  }
}

function placeOf(segment: number, end: ScanEnd | undefined): Position {
  if (end === undefined) return { segment, offset: 0, peak: 0 }
  return { segment, offset: end.resumeAt, peak: end.peak }
}

/**
 * The number of the first segment as far as it matters: where a checkpoint covers everything before the live
 * segments, the archived ones need not be opened to see whether they can be read.
 */
function firstToMatter(history: History, document: CheckpointDocument | undefined): number {
  const live = history.segments.find(({ place }) => place === 'live')?.number
  if (live !== undefined && document !== undefined && document.header.head_seq >= live - 1) return live
  return history.first() ?? 1
}
