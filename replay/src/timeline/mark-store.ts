/** Marks in bounded memory: as they are while they are few, counted in bins when they are not. */
import { type Bins, MARK_KINDS, type MarkKind, type Marks } from './timeline.js'

/** Most marks that are drawn one by one. */
const MARKS_MAX = 200_000
const BINS_MAX = 50_000
const FIRST_WIDTH_MS = 1000

/** Gathers marks in any order of time. */
export class MarkStore {
  readonly #max: number
  readonly #t: number[] = []
  readonly #lane: number[] = []
  readonly #kind: number[] = []
  readonly #seq: number[] = []
  readonly #label: string[] = []
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
    if (this.#bins !== undefined) {
      this.#count(this.#bins, t, lane, at, 1)
      return
    }
    this.#t.push(t)
    this.#lane.push(lane)
    this.#kind.push(at)
    this.#seq.push(seq)
    this.#label.push(label)
    if (this.#t.length > this.#max) this.#bin()
  }

  /** How often each kind occurred in a lane. */
  countsOf(lane: number): number[] {
    return this.#counts[lane] ?? MARK_KINDS.map(() => 0)
  }

  /** The marks by time, lanes renumbered; null where there were too many. */
  marks(laneOf: readonly number[]): Marks | null {
    if (this.#bins !== undefined) return null
    const order = this.#t.map((_, i) => i).sort((a, b) => (this.#t[a] ?? 0) - (this.#t[b] ?? 0) || a - b)
    const pick = <T>(column: readonly T[]): T[] => order.map(i => column[i] as T)
    return {
      t: pick(this.#t),
      lane: pick(this.#lane).map(lane => laneOf[lane] ?? 0),
      kind: pick(this.#kind),
      seq: pick(this.#seq),
      label: pick(this.#label),
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
    for (const [i, t] of this.#t.entries()) this.#count(bins, t, this.#lane[i] ?? 0, this.#kind[i] ?? 0, 1)
    for (const column of [this.#t, this.#lane, this.#kind, this.#seq, this.#label]) column.length = 0
  }

  #count(bins: Map<string, number>, t: number, lane: number, kind: number, n: number): void {
    const key = `${Math.floor(t / this.#width)} ${lane} ${kind}`
    bins.set(key, (bins.get(key) ?? 0) + n)
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
