import type { ReadRecord } from '@kim/manifest'
import type { RecordLine } from '../record-line.js'
import { recordTimeMs } from '../render/clock.js'
import { isOf } from '../select/filter.js'
import { lineFilter } from './line-filter.js'
import type { RecordLog } from './record-log.js'
import type { ScanStep } from './with-turns.js'

/** What is looked for in what stands there. */
export interface RecordQuery {
  readonly selects: (entry: RecordLine) => boolean
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
export class SeenPersonas {
  readonly #unseen: Set<string>

  constructor(personas: readonly string[]) {
    this.#unseen = new Set(personas)
  }

  /** Notes whom a record is about. */
  see(record: ReadRecord): void {
    if (record.agent !== undefined && this.#unseen.size > 0 && isOf([record.agent], record)) {
      this.#unseen.delete(record.agent)
    }
  }

  /** The names that no record was about. */
  get unseen(): readonly string[] {
    return [...this.#unseen]
  }
}

/** The newest entries that are wanted, in file order, once they are found. Reads from the end, and no more than it needs. */
export function* lastEntries(past: RecordLog, wanted: RecordQuery, seen: SeenPersonas): Generator<ScanStep> {
  const { lines, personas, selects, sinceMs } = wanted
  const found: RecordLine[] = []
  const tooOld = sinceMs === undefined ? undefined : older(past, sinceMs)
  for (const entry of past.backwards(lineFilter(personas), tooOld)) {
    seen.see(entry.record)
    if (found.length < lines && selects(entry)) found.push(entry)
    if (found.length >= lines && seen.unseen.length === 0) break
    yield undefined
  }
  yield* found.reverse()
}

/** Every entry that is wanted, in file order, one after the other. */
export function* allEntries(past: RecordLog, wanted: RecordQuery, seen: SeenPersonas): Generator<ScanStep> {
  const { selects, sinceMs } = wanted
  const from = sinceMs === undefined ? undefined : past.segments.findLast(older(past, sinceMs))
  for (const entry of past.forwards(from?.number)) {
    seen.see(entry.record)
    yield selects(entry) ? entry : undefined
  }
}

/** Asked about one segment after the other, newest first: true once enough in a row are old. */
function older(past: RecordLog, sinceMs: number): (segment: RecordLog['segments'][number]) => boolean {
  const isOld = (entry: RecordLine | undefined): boolean => {
    const at = recordTimeMs(entry?.record.ts)
    return at !== undefined && at < sinceMs - CLOCK_STEP_MS
  }
  let inARow = 0
  return segment => {
    inARow = isOld(past.firstOf(segment)) && isOld(past.lastOf(segment)) ? inARow + 1 : 0
    return inARow >= OLD_IN_A_ROW
  }
}
