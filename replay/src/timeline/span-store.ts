/** What lasted: from the record that began it to the one that ended it. */
import type { SpanKind, TimelineSpan } from './timeline.js'

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
  #leftOut = 0

  constructor(fromMs: number, toMs: number) {
    this.#fromMs = fromMs
    this.#toMs = toMs
  }

  /** Spans that were too many. */
  get leftOut(): number {
    return this.#leftOut
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
   * The wall clock was set between two records: what goes on ends with the first and begins anew with the second, for
   * a span over both would be longer or shorter than what lasted, and may end before it begins.
   */
  cut(before: SpanEnd, after: SpanEnd): void {
    for (const [key, open] of this.#open) {
      this.add({ ...open, to: before.t, to_seq: before.seq })
      this.#open.set(key, { ...open, from: after.t, from_seq: after.seq })
    }
  }

  /** Takes one if it lies in the window, if only in part: what nobody asked for takes no room. */
  add(span: TimelineSpan): void {
    if (span.from > this.#toMs || (span.to !== null && span.to < this.#fromMs)) return
    if (this.#spans.length < SPANS_MAX) this.#spans.push(span)
    else this.#leftOut += 1
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
