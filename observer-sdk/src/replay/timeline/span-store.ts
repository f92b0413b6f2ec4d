/** What lasted: from the record that began it to the one that ended it. */
import type { SpanKind, TimelineSpan } from './timeline.js'

const SPANS_MAX = 20_000

/** Gathers spans. */
export class SpanStore {
  readonly #spans: TimelineSpan[] = []
  readonly #open = new Map<string, TimelineSpan>()
  #leftOut = 0

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

  add(span: TimelineSpan): void {
    if (this.#spans.length < SPANS_MAX) this.#spans.push(span)
    else this.#leftOut += 1
  }

  /** All of them by time, as far as they lie between two times. */
  close(laneOf: readonly number[], fromMs: number, toMs: number): TimelineSpan[] {
    for (const open of this.#open.values()) this.add(open)
    this.#open.clear()
    return this.#spans
      .filter(({ from, to }) => from <= toMs && (to === null || to >= fromMs))
      .map(span => ({ ...span, lane: laneOf[span.lane] ?? 0 }))
      .sort((a, b) => a.from - b.from || a.from_seq - b.from_seq || order(a.kind, b.kind))
  }
}

function order(a: SpanKind, b: SpanKind): number {
  return a < b ? -1 : a > b ? 1 : 0
}
