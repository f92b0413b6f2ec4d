/** What a part of a journal lacks, in the words of `verifyJournal`, for a program that reads that part itself. */
import type { MalformedLine, PlainLine, SegmentLine, SeqRange, UnterminatedLine } from '@kim/manifest'
import { ContinuityCheck } from './continuity-check.js'
import { exitOf, type FindingKind, FindingLog, type Findings } from './findings.js'
import { FramingCheck, noteKindOf, notePayload } from './line-checks.js'
import { TxCheck } from './tx-check.js'
import { entryOf, type RecordEntry } from './walk.js'

/** What an answer about a part of a journal may suffer from. What a note explains is left out. */
export interface RangeVerdict {
  readonly findings: Findings
  /** 0 whole, 5 records are missing, 6 corrupt. */
  readonly exit: 0 | 5 | 6
  /** Numbers that no record has and no repair explains. */
  readonly holes: readonly SeqRange[]
}

/** These have no weight for `verifyJournal`, and yet an answer may lack something because of them. */
const HARMFUL: ReadonlySet<string> = new Set(['history_starts_at', 'future'])

/** Judges the lines of a part of a journal. Report them in file order, each with the name of its segment. */
export class RangeCheck {
  readonly #log = new FindingLog()
  readonly #framing = new FramingCheck(this.#log)
  readonly #runs = new TxCheck(this.#log)
  readonly #continuity: ContinuityCheck
  #late: number | undefined
  #places = 0
  /** A record names the project: our writer wrote it. */
  #isNamed = false

  /** `after` is the seq before the first that the part should hold. */
  constructor(after: number) {
    this.#continuity = new ContinuityCheck(this.#log, after)
  }

  /** How many damaged places and holes there were so far, explained later or not. */
  get places(): number {
    return this.#places + this.#continuity.holes
  }

  /** The highest seq so far. */
  get highest(): number {
    return this.#continuity.highest
  }

  /** A record that has its effect, or repeats one that had it. */
  record(segment: string, line: SegmentLine): void {
    const entry = entryOf(segment, line)
    this.#continuity.record(entry)
    this.#explains(entry)
  }

  /** A record behind the part, which may explain something in it. */
  explain(segment: string, line: SegmentLine): void {
    const entry = entryOf(segment, line)
    this.#continuity.explain(entry.record)
    this.#explains(entry)
  }

  /** Records whose transaction is not complete. */
  dropped(segment: string, lines: readonly SegmentLine[]): void {
    if (lines.length === 0) return
    for (const line of lines) this.record(segment, line)
    this.#places += 1
    this.#runs.dropped(lines.map(line => entryOf(segment, line)))
  }

  /** A line that is no record. */
  malformed(segment: string, line: MalformedLine): void {
    this.#places += 1
    this.#framing.malformed({ segment, ...line })
  }

  /** A line of a later version. */
  future(segment: string, seq: number | undefined, { offset, length }: PlainLine): void {
    this.#places += 1
    this.#framing.future({ segment, offset, length })
    if (seq !== undefined) this.#continuity.future(seq, { segment, offset })
  }

  /** The last line of a segment that has a successor is not terminated. */
  tail(segment: string, pending: UnterminatedLine): void {
    if (pending.length === 0) return
    this.#places += 1
    this.#framing.tail(segment, false, pending)
  }

  /** A file that cannot be read. */
  unreadable(path: string, code: string): void {
    this.#places += 1
    this.#log.report('unreadable', {}, `${path}: ${code}`)
  }

  /** A payload that was needed and whose blob cannot be read. */
  lacksBlob(
    kind: Extract<FindingKind, 'blob_missing' | 'blob_mismatch' | 'unreadable'>,
    seq: number | undefined,
    detail: string,
  ): void {
    this.#log.report(kind, { seq }, detail)
  }

  /** Records before this seq are missing, and no checkpoint stands in for them. */
  startsAt(seq: number): void {
    this.#late = seq
  }

  /** The part ends before `beyond`, with records that wait for the rest of their transaction. Seqs up to `reach` belong to it. */
  ends(segment: string, waiting: readonly SegmentLine[], beyond: SegmentLine, reach: number): void {
    let { highest } = this.#continuity
    for (const line of [...waiting, beyond]) {
      const entry = entryOf(segment, line)
      this.#continuity.hole({ from: highest + 1, to: Math.min(entry.seq - 1, reach) }, entry)
      highest = Math.max(highest, entry.seq)
    }
  }

  /** All that was found; call it once, at the end. `isForeign` says whether the journal is another writer's. */
  close(isForeign: () => boolean): RangeVerdict {
    this.#framing.end()
    this.#runs.end()
    const holes = this.#continuity.end()
    if (this.#late !== undefined)
      this.#log.report(
        'history_starts_at',
        { seq: this.#late },
        `records before seq ${this.#late} are not available`,
      )
    const native = this.#log.close(false)
    const weighed = exitOf(native) > 0 && !this.#isNamed && isForeign() ? this.#log.close(true) : native
    const findings: Findings = Object.fromEntries(
      Object.entries(weighed).filter(
        ([kind]) => native[kind as FindingKind]?.weight !== 0 || HARMFUL.has(kind),
      ),
    )
    const exit = exitOf(findings)
    return { findings, exit: exit === 0 && this.#late !== undefined ? 5 : exit, holes }
  }

  #explains({ record, effect }: RecordEntry): void {
    const kind = noteKindOf(record, effect)
    if (kind === 'genesis' || kind === 'segment_sealed')
      this.#isNamed ||= typeof notePayload(record)['project_id'] === 'string'
    else if (kind === 'torn_tail_adjudicated') this.#framing.adjudicated(notePayload(record))
    else if (kind === 'tx_abandoned') this.#runs.abandoned(notePayload(record))
  }
}
