/** What a command line selects of the records that exist: the last ones, all of them, or those after a cursor. */
import { type KimError, nextTurn, type ReadRecord } from '@kim/manifest'
import type { JournalLine } from '@kim/observer-sdk'
import type { JournalHistory } from '@kim/observer-sdk/history'
import { noPersona } from '../journal.js'
import type { Plan } from '../plan.js'
import { age, recordTimeMs } from '../render/clock.js'
import { isJournalRecord } from '../selection.js'

/** Entries in file order, read as they are asked for or read already. */
export type Entries = Iterable<JournalLine> | AsyncIterable<JournalLine>

/** One step of a search: an entry that is wanted, or undefined for one that is not. */
export type ScanStep = JournalLine | undefined

/** Which entries are wanted. */
export interface RecordQuery {
  readonly selects: (entry: JournalLine) => boolean
  readonly personas: readonly string[]
  /** At most so many, the newest of them; `Infinity` for all. */
  readonly lines: number
  readonly sinceMs: number | undefined
}

/** Notes which personas occur in the records that are read: so an unknown name differs from one without news. */
export class SeenPersonas {
  readonly #unseen: Set<string>

  constructor(personas: readonly string[]) {
    this.#unseen = new Set(personas)
  }

  /** Notes the persona that a record is about. */
  see(record: ReadRecord): void {
    if (record.agent !== undefined && !isJournalRecord(record)) this.#unseen.delete(record.agent)
  }

  /** The names that no record was about. */
  get unseen(): readonly string[] {
    return [...this.#unseen]
  }
}

/**
 * The entries of a plan without a cursor, up to a seq. If that is everything, it is read each time it is iterated and
 * never held whole: it may be larger than memory. Ends early once the signal is aborted.
 */
export async function pastEntries(
  past: JournalHistory,
  { position, selection }: Plan,
  selects: (entry: JournalLine) => boolean,
  seen: SeenPersonas,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): Promise<Entries> {
  const lines = 'lines' in position ? position.lines : 0
  const wanted = {
    selects: (entry: JournalLine) => entry.record.seq <= toSeq && selects(entry),
    personas: selection.personas,
    lines,
    sinceMs: position.kind === 'since' ? position.ms : undefined,
  }
  if (!Number.isFinite(lines))
    return { [Symbol.asyncIterator]: () => withTurns(allEntries(past, wanted, seen), signal) }
  const found: JournalLine[] = []
  for await (const entry of withTurns(lastEntries(past, wanted, seen), signal)) found.push(entry)
  return found
}

/** The selected entries above a seq, up to another. Ends early once the signal is aborted. */
export function entriesBehind(
  past: JournalHistory,
  seq: number,
  selects: (entry: JournalLine) => boolean,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): AsyncIterable<JournalLine> {
  function* steps(): Generator<ScanStep> {
    if (seq >= toSeq) return
    for (const entry of past.forwards(past.segmentOf(seq + 1)?.number)) {
      const isBehind = entry.record.seq > seq && entry.record.seq <= toSeq
      yield isBehind && selects(entry) ? entry : undefined
    }
  }
  return withTurns(steps(), signal)
}

/** Reads back until each of the personas was seen, as far as the signal lets it. */
export async function lookForPersonas(
  past: JournalHistory,
  seen: SeenPersonas,
  signal: AbortSignal,
): Promise<void> {
  const wanted = { selects: () => false, personas: seen.unseen, lines: 0, sinceMs: undefined }
  if (seen.unseen.length === 0) return
  for await (const _ of withTurns(lastEntries(past, wanted, seen), signal));
}

/** A refusal for each name that no record is about; none if the signal ended the search. */
export async function unknownPersonas(
  past: JournalHistory,
  seen: SeenPersonas,
  signal: AbortSignal,
): Promise<readonly KimError[]> {
  if (seen.unseen.length === 0) return []
  const known = new Set<string>()
  for await (const { record } of withTurns(past.forwards(), signal)) {
    if (record.agent !== undefined && !isJournalRecord(record)) known.add(record.agent)
  }
  if (signal.aborted) return []
  return seen.unseen.filter(name => !known.has(name)).map(name => noPersona(name, known))
}

/** How many entries there are, and how old the first is. */
export async function countUnhandled(
  entries: Entries,
  nowMs: number,
): Promise<{ readonly unhandled: number; readonly oldest: string | undefined }> {
  let unhandled = 0
  let oldest: number | undefined
  for await (const { record } of entries) {
    if (unhandled === 0) oldest = recordTimeMs(record.ts)
    unhandled += 1
  }
  return { unhandled, oldest: oldest === undefined ? undefined : age(oldest, nowMs) }
}

/** The newest entries that are wanted, in file order. Reads from the end, and no more than it needs. */
export function* lastEntries(
  past: JournalHistory,
  wanted: RecordQuery,
  seen: SeenPersonas,
): Generator<ScanStep> {
  const { lines, personas, selects, sinceMs } = wanted
  const found: JournalLine[] = []
  const tooOld = sinceMs === undefined ? undefined : older(past, sinceMs)
  for (const entry of past.backwards(lineFilter(personas), tooOld)) {
    seen.see(entry.record)
    if (found.length < lines && selects(entry)) found.push(entry)
    if (found.length >= lines && seen.unseen.length === 0) break
    yield undefined
  }
  yield* found.reverse()
}

/** Every entry that is wanted, in file order. */
export function* allEntries(
  past: JournalHistory,
  wanted: RecordQuery,
  seen: SeenPersonas,
): Generator<ScanStep> {
  const { selects, sinceMs } = wanted
  const from = sinceMs === undefined ? undefined : past.segments.findLast(older(past, sinceMs))
  for (const entry of past.forwards(from?.number)) {
    seen.see(entry.record)
    yield selects(entry) ? entry : undefined
  }
}

/** `ts` orders nothing, and clocks step: a segment is old if it begins and ends this much before the wanted time. */
const CLOCK_STEP_MS = 3_600_000
/** How many old segments in a row end the search. A wrong clock may have written a single one. */
const OLD_IN_A_ROW = 2

/** A test for segments, newest first: true once enough of them in a row are old. */
function older(
  past: JournalHistory,
  sinceMs: number,
): (segment: JournalHistory['segments'][number]) => boolean {
  const isOld = (entry: JournalLine | undefined): boolean => {
    const at = recordTimeMs(entry?.record.ts)
    return at !== undefined && at < sinceMs - CLOCK_STEP_MS
  }
  let inARow = 0
  return segment => {
    inARow = isOld(past.firstOf(segment)) && isOld(past.lastOf(segment)) ? inARow + 1 : 0
    return inARow >= OLD_IN_A_ROW
  }
}

/**
 * A quick look at a line's bytes: false only if the line certainly belongs to none of these personas. Most lines of a
 * busy store belong to others, and to parse them would take most of the time of a start.
 *
 * In JSON, a name of plain characters is written as it is or with `\u` escapes. Lines with `tx` are always read.
 */
export function lineFilter(personas: readonly string[]): ((line: Buffer) => boolean) | undefined {
  if (personas.length === 0 || !personas.every(name => /^[\w.-]+$/.test(name))) return undefined
  const needles = [...personas.map(name => `"${name}"`), '"tx"', '\\u'].map(text => Buffer.from(text))
  return line => needles.some(needle => line.includes(needle))
}

/** How long a search runs before others get their turn: it may take seconds. */
const SLICE_MS = 20

/**
 * The entries of a search that may take long, with turns for others in between: so signals are answered, and a lock
 * is touched in time. Ends wherever it is once the signal is aborted.
 */
export async function* withTurns(
  steps: Iterable<ScanStep>,
  signal: AbortSignal,
): AsyncGenerator<JournalLine> {
  let began = performance.now()
  for (const step of steps) {
    if (signal.aborted) return
    if (step !== undefined) yield step
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
}
