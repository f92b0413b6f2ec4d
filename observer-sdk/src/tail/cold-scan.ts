/** What a cold start takes from the segments it reads, newest first: images, activity, head and counts. */
import type { Buffer } from 'node:buffer'
import {
  type AnomalyKind,
  decodeLine,
  type Effect,
  effectOf,
  entersActivity,
  type Head,
  isRegistryGenesis,
  type ReadRecord,
} from '@kim/manifest'
import { ActionCatalogue } from './action-effects.js'
import { ActivityTail } from './activity-tail.js'
import type { FrameMatcher } from './frame.js'
import { ImageClaims } from './image-claims.js'
import type { JudgedLine } from './line-judge.js'
import { isRedaction } from './redaction.js'
import type { ScanVisitor } from './segment-scan.js'

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

  see({ record: { seq, writer } }: JudgedLine): void {
    // Of several with the highest seq the last one counts.
    if (seq >= (this.top?.seq ?? seq + 1)) this.top = undefined
    this.highest = Math.max(this.highest, seq)
    if (seq >= (this.head?.seq ?? 0)) this.head = { seq, writer: writer ?? null }
  }
}

/** The visitor of a cold start. */
export class ColdScan implements ScanVisitor {
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

  readonly #actions = new ActionCatalogue()
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

  framed(window: Buffer, from: number, to: number, offset: number, frame: FrameMatcher): void {
    const effects = this.#actions.effectsOf(window, frame.actionStart, frame.actionEnd)
    const effect = frame.hasPayload ? effects.withPayload : effects.withoutPayload
    // Nobody ever reads what a tombstone carries, so nobody would find out that its line is none.
    if (effect === 'meta' || (effect === 'remove' && frame.hasPayload)) {
      this.#parse(window.subarray(from, to), offset)
      return
    }
    const { seq } = frame
    const facts = this.#facts
    if (seq > facts.highest) facts.highest = seq
    if (seq > (this.head?.seq ?? 0)) facts.top = { from, to, seq }
    if ((frame.hasEvent || effect === 'activity') && this.activity.wants) {
      this.activity.line(from, to)
    }
    if (effect !== 'activity') this.claims.line(window, from, to, frame, effect === 'upsert')
    if (this.#after !== undefined && seq === this.#after.seq) {
      this.#pass(seq, window.toString('utf8', frame.writerStart, frame.writerEnd))
    }
  }

  released(line: JudgedLine): void {
    const { record, defects } = line
    this.#facts.see(line)
    for (const kind of defects) this.#facts.count(kind)
    const effect = effectOf(record)
    if (effect === 'meta') this.#facts.note(record)
    if (this.activity.wants && entersActivity(record)) this.activity.record(record)
    if (changesState(effect)) this.claims.record(record, effect === 'upsert')
    this.#pass(record.seq, record.writer)
  }

  dropped(line: JudgedLine): void {
    this.#facts.see(line)
    for (const kind of line.defects) this.#facts.count(kind)
    this.#facts.count('tx_incomplete')
    this.#pass(line.record.seq, line.record.writer)
  }

  repeated(lines: number): void {
    this.#facts.count('duplicate_line', lines)
  }

  odd(kind: 'malformed' | 'future', seq: number | undefined): void {
    this.#facts.count(kind)
    this.#facts.highest = Math.max(this.#facts.highest, seq ?? 0)
  }

  window(window: Buffer): boolean {
    const { top } = this.#facts
    this.#facts.top = undefined
    if (top !== undefined && top.seq >= (this.#facts.head?.seq ?? 0)) {
      const decoded = decodeLine(window.subarray(top.from, top.to))
      if (decoded.kind !== 'record') this.flawed.add(this.#segment)
      else this.#facts.head = { seq: top.seq, writer: decoded.record.writer ?? null }
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

  #parse(line: Buffer, offset: number): void {
    const decoded = decodeLine(line)
    if (decoded.kind === 'record') this.released({ ...decoded, offset, bytes: line })
    else this.#facts.count('malformed')
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
