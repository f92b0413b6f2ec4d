/** What a passage of the journal should hold and does not, in the words of `verify`. */
import type { SeqRange, UnterminatedLine } from '@kim/manifest'
import {
  ContinuityCheck,
  exitOf,
  type FindingKind,
  FindingLog,
  type Findings,
  FramingCheck,
  type LinePlace,
  type MalformedEntry,
  noteKindOf,
  notePayload,
  type RecordEntry,
  TxCheck,
} from '@kim/observer-sdk/verify'
import { isPlaceholder } from './bundle/placeholder.js'
import type { CopiedJournal } from './copied-journal.js'
import type { PayloadFault } from './payloads.js'

/** Damage that an answer may have suffered from; what a note explains is none. */
export interface Missing {
  readonly findings: Findings
  /** 0, 5 where only records are missing, 6 where bytes are damaged. */
  readonly exit: 0 | 5 | 6
  /** Numbers that no record has and no repair explains. */
  readonly holes: readonly SeqRange[]
}

const TAKEN_OUT_MAX = 100_000

/** Collects the damage of a passage. */
export class Damage {
  readonly #log = new FindingLog()
  readonly #framing = new FramingCheck(this.#log)
  readonly #runs = new TxCheck(this.#log)
  readonly #continuity: ContinuityCheck
  /** Lines as a redaction puts them in place of others: damage, but in a bundle that was redacted. */
  readonly #takenOut: MalformedEntry[] = []
  #takenOutMore = 0
  #late: number | undefined
  #places = 0
  /** A record names the project: our writer wrote this. */
  #isNamed = false

  /** `after` is the number before the first that the passage should hold. */
  constructor(after: number) {
    this.#continuity = new ContinuityCheck(this.#log, after)
  }

  /** How many damaged places and holes there were so far, explained later or not. */
  get places(): number {
    return this.#places + this.#continuity.holes
  }

  /** The highest number so far. */
  get highest(): number {
    return this.#continuity.highest
  }

  /** How many lines stand in for lines that a redaction took out. */
  get takenOut(): number {
    return this.#takenOut.length + this.#takenOutMore
  }

  /** A record of the passage, with or without effect. */
  record(entry: RecordEntry): void {
    this.#continuity.record(entry)
    this.#explains(entry)
  }

  /** A record that may stand beyond the passage and say what something in it was. */
  explain(entry: RecordEntry): void {
    this.#continuity.explain(entry.record)
    this.#explains(entry)
  }

  /** The records around the passage's end: its own that wait for the rest of their run, and the first beyond it. */
  ends(waiting: readonly RecordEntry[], beyond: RecordEntry, reach: number): void {
    let { highest } = this.#continuity
    for (const entry of [...waiting, beyond]) {
      this.#continuity.hole({ from: highest + 1, to: Math.min(entry.seq - 1, reach) }, entry)
      highest = Math.max(highest, entry.seq)
    }
  }

  dropped(entries: readonly RecordEntry[]): void {
    if (entries.length === 0) return
    this.#places += 1
    this.#runs.dropped(entries)
  }

  malformed(entry: MalformedEntry): void {
    this.#places += 1
    if (entry.bytes === undefined || !isPlaceholder(entry.bytes)) this.#framing.malformed(entry)
    else if (this.#takenOut.length < TAKEN_OUT_MAX) this.#takenOut.push(entry)
    else this.#takenOutMore += 1
  }

  future(seq: number | undefined, place: LinePlace): void {
    this.#places += 1
    this.#framing.future(place)
    if (seq !== undefined) this.#continuity.future(seq, place)
  }

  tail(segment: string, pending: UnterminatedLine): void {
    if (pending.length === 0) return
    this.#places += 1
    this.#framing.tail(segment, false, pending)
  }

  unreadable(path: string, code: string): void {
    this.#places += 1
    this.#log.report('unreadable', {}, `${path}: ${code}`)
  }

  /** What stood before this number is gone, and no checkpoint stands in for it. */
  startsAt(seq: number): void {
    this.#late = seq
  }

  /** All that was found, and what was needed beside the lines. Nothing may be told afterwards. */
  close(
    journal: Pick<CopiedJournal, 'isForeign' | 'isRedacted'>,
    faults: Iterable<PayloadFault> = [],
  ): Missing {
    for (const { kind, seq, detail } of faults) this.#log.report(kind, { seq }, detail)
    if (this.#takenOut.length > 0 && !journal.isRedacted) {
      for (const entry of this.#takenOut) this.#framing.malformed(entry)
      for (let i = 0; i < this.#takenOutMore; i++) this.#log.report('malformed_line', {}, 'a redacted line')
    }
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
    const weighed = exitOf(native) > 0 && !this.#isNamed && journal.isForeign ? this.#log.close(true) : native
    const findings = Object.fromEntries(
      Object.entries(weighed).filter(
        ([kind]) => native[kind as FindingKind]?.weight !== 0 || HARMS.has(kind),
      ),
    ) as Findings
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

/** Of no weight to `verify`, and yet an answer may lack something for it. */
const HARMS: ReadonlySet<string> = new Set(['history_starts_at', 'future'])
