/** Gathers the parts of a timeline in bounded memory: marks, periods, and how long messages took. */
import type { ReadRecord } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'
import {
  type Bins,
  type Latency,
  MARK_KINDS,
  type MarkKind,
  type Marks,
  type SlowMessage,
  type SpanKind,
  type TimelineSpan,
} from './timeline.js'

/** Most marks that are drawn one by one. */
const MARKS_MAX = 200_000
const BINS_MAX = 50_000
const FIRST_WIDTH_MS = 1000

/** One mark; `kind` is an index. */
interface Mark {
  readonly t: number
  readonly lane: number
  readonly kind: number
  readonly seq: number
  readonly label: string
}

/** Gathers marks in any order of time. */
export class MarkStore {
  readonly #max: number
  #marks: Mark[] = []
  readonly #counts: number[][] = []
  #bins: Map<string, number> | undefined
  #width = FIRST_WIDTH_MS

  constructor(max: number = MARKS_MAX) {
    this.#max = max
  }

  add(t: number, lane: number, kind: MarkKind, seq: number, label: string): void {
    const at = MARK_KINDS.indexOf(kind)
    const counts = this.#counts[lane] ?? MARK_KINDS.map(() => 0)
    this.#counts[lane] = counts
    counts[at] = (counts[at] ?? 0) + 1
    if (this.#bins === undefined) this.#marks.push({ t, lane, kind: at, seq, label })
    else this.#count(this.#bins, t, lane, at)
    if (this.#marks.length > this.#max) this.#bin()
  }

  /** How often each kind occurred in a lane. */
  countsOf(lane: number): number[] {
    return this.#counts[lane] ?? MARK_KINDS.map(() => 0)
  }

  /** The marks by time, lanes renumbered; null where there were too many. */
  marks(laneOf: readonly number[]): Marks | null {
    if (this.#bins !== undefined) return null
    const marks = this.#marks.toSorted((a, b) => a.t - b.t)
    return {
      t: marks.map(({ t }) => t),
      lane: marks.map(({ lane }) => laneOf[lane] ?? 0),
      kind: marks.map(({ kind }) => kind),
      seq: marks.map(({ seq }) => seq),
      label: marks.map(({ label }) => label),
    }
  }

  /** The bins by time; null where the marks themselves are few enough. */
  bins(laneOf: readonly number[]): Bins | null {
    if (this.#bins === undefined) return null
    const rows = [...this.#bins].map(([key, n]) => {
      const [bin = 0, lane = 0, kind = 0] = key.split(' ').map(Number)
      return { t: bin * this.#width, lane: laneOf[lane] ?? 0, kind, n }
    })
    rows.sort((a, b) => a.t - b.t || a.lane - b.lane || a.kind - b.kind)
    return {
      width_ms: this.#width,
      t: rows.map(({ t }) => t),
      lane: rows.map(({ lane }) => lane),
      kind: rows.map(({ kind }) => kind),
      n: rows.map(({ n }) => n),
    }
  }

  #bin(): void {
    const bins = new Map<string, number>()
    this.#bins = bins
    for (const { t, lane, kind } of this.#marks) this.#count(bins, t, lane, kind)
    this.#marks = []
  }

  #count(bins: Map<string, number>, t: number, lane: number, kind: number): void {
    const key = `${Math.floor(t / this.#width)} ${lane} ${kind}`
    bins.set(key, (bins.get(key) ?? 0) + 1)
    while (bins.size > BINS_MAX && this.#width < 2 ** 40) this.#widen(bins)
  }

  #widen(bins: Map<string, number>): void {
    const before = [...bins]
    bins.clear()
    this.#width *= 2
    for (const [key, n] of before) {
      const [bin = 0, lane, kind] = key.split(' ').map(Number)
      const wider = `${Math.floor(bin / 2)} ${lane} ${kind}`
      bins.set(wider, (bins.get(wider) ?? 0) + n)
    }
  }
}

const SPANS_MAX = 20_000

/** A record that a span begins or ends with. */
interface SpanEnd {
  readonly t: number
  readonly seq: number
}

/** Gathers the spans of a window. */
export class SpanStore {
  readonly #fromMs: number
  readonly #toMs: number
  readonly #spans: TimelineSpan[] = []
  readonly #open = new Map<string, TimelineSpan>()
  /** Spans that were too many. */
  leftOut = 0

  constructor(fromMs: number, toMs: number) {
    this.#fromMs = fromMs
    this.#toMs = toMs
  }

  /** Begins one, if none of this key is open. */
  begin(key: string, span: Omit<TimelineSpan, 'to' | 'to_seq'>): void {
    if (!this.#open.has(key)) this.#open.set(key, { ...span, to: null, to_seq: null })
  }

  end(key: string, to: number, toSeq: number): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    this.add({ ...open, to, to_seq: toSeq })
  }

  /**
   * The wall clock was set between two records. Each open span ends with the first and a new one begins with the
   * second: a span over both would be too long or too short, and could end before it begins.
   */
  cut(before: SpanEnd, after: SpanEnd): void {
    for (const [key, open] of this.#open) {
      this.add({ ...open, to: before.t, to_seq: before.seq })
      this.#open.set(key, { ...open, from: after.t, from_seq: after.seq })
    }
  }

  /** Keeps a span if at least a part of it is in the window; the others take no room. */
  add(span: TimelineSpan): void {
    if (span.from > this.#toMs || (span.to !== null && span.to < this.#fromMs)) return
    if (this.#spans.length < SPANS_MAX) this.#spans.push(span)
    else this.leftOut += 1
  }

  /** All of them by time. */
  close(laneOf: readonly number[]): TimelineSpan[] {
    for (const open of this.#open.values()) this.add(open)
    this.#open.clear()
    return this.#spans
      .map(span => ({ ...span, lane: laneOf[span.lane] ?? 0 }))
      .sort((a, b) => a.from - b.from || a.from_seq - b.from_seq || order(a.kind, b.kind))
  }
}

function order(a: SpanKind, b: SpanKind): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const UPTO_MS: readonly number[] = [
  ...[10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000],
  ...[4 * 3_600_000, 86_400_000],
]

/** How long messages took from creation to the journal. */
export class LatencyBins {
  readonly #counts: number[] = new Array<number>(UPTO_MS.length + 1).fill(0)
  readonly #all = { messages: 0, unknown: 0, negative: 0 }

  /** Takes a message that woke somebody; gives how long it took, if that is known. */
  take({ ts, payload }: Pick<ReadRecord, 'ts' | 'payload'>): number | undefined {
    const created = payload?.['created']
    const wait = timestampMs(ts) - timestampMs(created)
    this.#all.messages += 1
    if (Number.isNaN(wait)) this.#all.unknown += 1
    else if (wait < 0) this.#all.negative += 1
    else {
      const at = UPTO_MS.findIndex(upto => wait <= upto)
      const bin = at === -1 ? UPTO_MS.length : at
      this.#counts[bin] = (this.#counts[bin] ?? 0) + 1
      return wait
    }
    return undefined
  }

  close(): Latency {
    return { upto_ms: [...UPTO_MS, null], counts: this.#counts, ...this.#all }
  }
}

/** How many are told of. */
const SLOWEST_MAX = 10

/** Keeps the messages that took longest from creation to the journal. */
export class Slowest {
  readonly #messages: SlowMessage[] = []

  /** Whether a wait is long enough to be told of; of two as long it is the first. */
  isSlow(ms: number): boolean {
    const last = this.#messages.at(-1)
    return this.#messages.length < SLOWEST_MAX || last === undefined || ms > last.ms
  }

  add(message: SlowMessage): void {
    const at = this.#messages.findIndex(({ ms }) => ms < message.ms)
    this.#messages.splice(at < 0 ? this.#messages.length : at, 0, message)
    this.#messages.splice(SLOWEST_MAX)
  }

  /** The slowest first, with lanes renumbered. */
  close(laneOf: readonly number[]): SlowMessage[] {
    return this.#messages.map(message => ({ ...message, lane: laneOf[message.lane] ?? 0 }))
  }
}
