import type { ReadRecord } from '@kim/manifest'
import type { Entry } from '../entry.js'
import { timeOf } from '../render/clock.js'
import { isOf } from '../select/filter.js'
import type { PastRecords } from './history.js'
import type { Step } from './unhurried.js'
import { lineWanted } from './wanted.js'

/** What is looked for in what stands there. */
export interface Wanted {
  readonly selects: (entry: Entry) => boolean
  readonly personas: readonly string[]
  /** At most so many, the newest of them; `Infinity` for all. */
  readonly lines: number
  readonly sinceMs: number | undefined
}

/** `ts` orders nothing, and clocks step; a segment that begins and ends this much before what is wanted is old. */
const CLOCK_STEP_MS = 3_600_000
/** Old segments in a row before which nothing is looked for: one alone may have been written by a clock gone wrong. */
const OLD_IN_A_ROW = 2

/** Says which personas are met on the way, so that a name nobody has can be told from one without news. */
export class Acquaintance {
  readonly #unmet: Set<string>

  constructor(personas: readonly string[]) {
    this.#unmet = new Set(personas)
  }

  /** Notes whom a record is about. */
  meet(record: ReadRecord): void {
    if (record.agent !== undefined && this.#unmet.size > 0 && isOf([record.agent], record)) {
      this.#unmet.delete(record.agent)
    }
  }

  /** The names that no record was about. */
  get unmet(): readonly string[] {
    return [...this.#unmet]
  }
}

/** The newest entries that are wanted, in file order, once they are found. Reads from the end, and no more than it needs. */
export function* lastEntries(past: PastRecords, wanted: Wanted, met: Acquaintance): Generator<Step> {
  const { lines, personas, selects, sinceMs } = wanted
  const found: Entry[] = []
  const tooOld = sinceMs === undefined ? undefined : older(past, sinceMs)
  for (const entry of past.backwards(lineWanted(personas), tooOld)) {
    met.meet(entry.record)
    if (found.length < lines && selects(entry)) found.push(entry)
    if (found.length >= lines && met.unmet.length === 0) break
    yield undefined
  }
  yield* found.reverse()
}

/** Every entry that is wanted, in file order, one after the other. */
export function* allEntries(past: PastRecords, wanted: Wanted, met: Acquaintance): Generator<Step> {
  const { selects, sinceMs } = wanted
  const from = sinceMs === undefined ? undefined : past.segments.findLast(older(past, sinceMs))
  for (const entry of past.forwards(from?.number)) {
    met.meet(entry.record)
    yield selects(entry) ? entry : undefined
  }
}

/** Asked about one segment after the other, newest first: true once enough in a row are old. */
function older(past: PastRecords, sinceMs: number): (segment: PastRecords['segments'][number]) => boolean {
  const isOld = (entry: Entry | undefined): boolean => {
    const at = timeOf(entry?.record.ts)
    return at !== undefined && at < sinceMs - CLOCK_STEP_MS
  }
  let inARow = 0
  return segment => {
    inARow = isOld(past.firstOf(segment)) && isOld(past.lastOf(segment)) ? inARow + 1 : 0
    return inARow >= OLD_IN_A_ROW
  }
}
