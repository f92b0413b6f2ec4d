/** What a cold start takes from the segments it reads, newest first: images, activity, head and counts. */
import type { Buffer } from 'node:buffer'
import {
  ActionEffects,
  type AnomalyKind,
  type Effect,
  effectOf,
  entersActivity,
  type Head,
  isRegistryGenesis,
  type LineFrame,
  type ReadRecord,
  recordOf,
  type SegmentLine,
} from '@kim/manifest'
import { ActivityTail } from './activity-tail.js'
import { ImageClaims } from './image-claims.js'
import { isRedaction } from './redaction.js'
import type { ScanListener } from './segment-scan.js'

/** The line after which a checkpoint's tail begins. */
export interface TailStart {
  readonly seq: number
  readonly writer: string | null
}

/** What one segment comes to. */
class SegmentFacts {
  readonly counts = new Map<AnomalyKind, number>()
  head: Head | undefined
  highest = 0
  registry = false
  /** Whether a redaction began after the last checkpoint was noted; undefined if neither stands here. */
  redaction: boolean | undefined
  /** The last unread line that could be the head, to be parsed before it is. */
  top: { from: number; to: number; seq: number } | undefined

  count(kind: AnomalyKind, times = 1): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + times)
  }

  note(record: ReadRecord): void {
    this.registry ||= isRegistryGenesis(record)
    if (isRedaction(record)) this.redaction = true
    if (record.action === 'checkpoint_ref') this.redaction = false
  }

  see({ record: { seq, writer } }: Pick<SegmentLine, 'record'>): void {
    // Of several with the highest seq the last one counts.
    if (seq >= (this.top?.seq ?? seq + 1)) this.top = undefined
    this.highest = Math.max(this.highest, seq)
    if (seq >= (this.head?.seq ?? 0)) this.head = { seq, writer: writer ?? null }
  }
}

/** The listener of a cold start. */
export class ColdScan implements ScanListener {
  readonly claims: ImageClaims = new ImageClaims()
  readonly activity: ActivityTail = new ActivityTail()
  readonly counts: Map<AnomalyKind, number> = new Map()
  head: Head | undefined
  /** The highest seq of any line that has one, future lines included. */
  highest = 0
  registryAuthoritative = false
  /** Whether a redaction is noted that no checkpoint has ended yet, as far as it was read. */
  redactionPending: boolean | undefined
  /** Segments with a line that is not what its frame promised: met now, it makes this scan void. */
  readonly flawed: Set<number> = new Set()

  readonly #actions = new ActionEffects()
  #facts = new SegmentFacts()
  #segment = 0
  #after: TailStart | undefined
  /** Whether a segment without that line is wholly in the tail. */
  #isAbove = true
  #isHeadSeen = false

  /**
   * Begins a segment. With `after`, only what follows the last such line counts; a segment that does not hold it
   * counts wholly if `isAbove`, else not at all.
   */
  begin(segment: number, after?: TailStart, isAbove = true): void {
    this.#segment = segment
    this.#after = after
    this.#isAbove = isAbove
    this.#isHeadSeen = false
    this.claims.begin(segment)
    this.#facts = new SegmentFacts()
  }

  /** Ends a segment; true if the tail begins in it. */
  end(): boolean {
    const isFirst = this.#isHeadSeen
    if (!isFirst && !this.#isAbove) this.restart()
    const { counts, head, highest, registry, redaction } = this.#facts
    for (const [kind, times] of counts) this.counts.set(kind, (this.counts.get(kind) ?? 0) + times)
    if (head !== undefined && head.seq > (this.head?.seq ?? 0)) this.head = head
    this.highest = Math.max(this.highest, highest)
    this.registryAuthoritative ||= registry
    this.redactionPending ??= redaction
    this.activity.endSegment()
    return isFirst
  }

  framed(frame: LineFrame): void {
    const effect = this.#actions.of(frame)
    // What a tombstone carries is never read, so nothing would show that its line is none.
    if (effect === 'meta' || (effect === 'remove' && frame.hasPayload)) {
      this.#parse(frame.line)
      return
    }
    const { seq, from, to } = frame
    const facts = this.#facts
    if (seq > facts.highest) facts.highest = seq
    if (seq > (this.head?.seq ?? 0)) facts.top = { from, to, seq }
    if ((frame.hasEvent || effect === 'activity') && this.activity.wants) {
      this.activity.line(from, to)
    }
    if (effect !== 'activity') this.claims.line(frame, effect === 'upsert')
    if (this.#after !== undefined && seq === this.#after.seq) {
      this.#pass(seq, frame.text(frame.writerStart, frame.writerEnd))
    }
  }

  released(line: Pick<SegmentLine, 'record' | 'defects'>): void {
    const { record, defects } = line
    this.#facts.see(line)
    for (const kind of defects) this.#facts.count(kind)
    const effect = effectOf(record)
    if (effect === 'meta') this.#facts.note(record)
    if (this.activity.wants && entersActivity(record)) this.activity.record(record)
    if (changesState(effect)) this.claims.record(record, effect === 'upsert')
    this.#pass(record.seq, record.writer)
  }

  dropped(lines: readonly SegmentLine[]): void {
    for (const line of lines) {
      this.#facts.see(line)
      for (const kind of line.defects) this.#facts.count(kind)
      this.#facts.count('tx_incomplete')
      this.#pass(line.record.seq, line.record.writer)
    }
  }

  repeated(): void {
    this.#facts.count('duplicate_line')
  }

  malformed(): void {
    this.#facts.count('malformed')
  }

  future(seq: number | undefined): void {
    this.#facts.count('future')
    this.#facts.highest = Math.max(this.#facts.highest, seq ?? 0)
  }

  windowEnd(window: Buffer): boolean {
    const { top } = this.#facts
    this.#facts.top = undefined
    if (top !== undefined && top.seq >= (this.#facts.head?.seq ?? 0)) {
      const record = recordOf(window.subarray(top.from, top.to))
      if (record === undefined) this.flawed.add(this.#segment)
      else this.#facts.head = { seq: top.seq, writer: record.writer ?? null }
    }
    this.activity.settle(window)
    return this.claims.settle(window)
  }

  restart(): void {
    this.claims.forget()
    this.activity.restart()
    this.#facts = new SegmentFacts()
    this.#isHeadSeen = false
  }

  /** A framed line carries no blob reference and no transaction, so it has no defects. */
  #parse(line: Buffer): void {
    const record = recordOf(line)
    if (record === undefined) this.#facts.count('malformed')
    else this.released({ record, defects: [] })
  }

  /** The tail begins after the last line with its seq and writer: what came before is not part of it. */
  #pass(seq: number, writer: string | undefined): void {
    const after = this.#after
    if (after === undefined || seq !== after.seq) return
    if (after.writer !== null && writer !== after.writer) return
    this.restart()
    this.#isHeadSeen = true
  }
}

function changesState(effect: Effect): boolean {
  return effect === 'upsert' || effect === 'remove'
}
