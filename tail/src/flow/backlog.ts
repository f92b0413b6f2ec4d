import type { KimError } from '@kim/manifest'
import { noPersona } from '../missing.js'
import type { Plan } from '../plan.js'
import { allEntries, lastEntries, type SeenPersonas } from '../read/query-records.js'
import type { RecordLog } from '../read/record-log.js'
import { type ScanStep, withTurns } from '../read/with-turns.js'
import { isJournalRecord, type RecordLine } from '../record-line.js'
import { age, recordTimeMs } from '../render/clock.js'

/**
 * What a plan without a cursor selects of what stands there, up to a seq, in file order. Where it is everything, it is
 * read anew each time it is gone through, and never held whole: a backlog may be larger than memory.
 * Ends early once the signal is aborted.
 */
export async function pastEntries(
  past: RecordLog,
  plan: Plan,
  selects: (entry: RecordLine) => boolean,
  seen: SeenPersonas,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): Promise<Iterable<RecordLine> | AsyncIterable<RecordLine>> {
  const { position } = plan
  const lines = position.kind === 'last' || position.kind === 'since' ? position.lines : 0
  const wanted = {
    selects: (entry: RecordLine) => entry.record.seq <= toSeq && selects(entry),
    personas: plan.selection.personas,
    lines,
    sinceMs: position.kind === 'since' ? position.ms : undefined,
  }
  if (!Number.isFinite(lines))
    return { [Symbol.asyncIterator]: () => withTurns(allEntries(past, wanted, seen), signal) }
  const found: RecordLine[] = []
  for await (const entry of withTurns(lastEntries(past, wanted, seen), signal)) found.push(entry)
  return found
}

/** What is selected of what stands behind a seq, up to another. Ends early once the signal is aborted. */
export function entriesBehind(
  past: RecordLog,
  seq: number,
  selects: (entry: RecordLine) => boolean,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): AsyncIterable<RecordLine> {
  function* steps(): Generator<ScanStep> {
    if (seq >= toSeq) return
    for (const entry of past.forwards(past.segmentOf(seq + 1)?.number)) {
      const isBehind = entry.record.seq > seq && entry.record.seq <= toSeq
      yield isBehind && selects(entry) ? entry : undefined
    }
  }
  return withTurns(steps(), signal)
}

/** The seq above which a look that found this first answers for every number: all of them, or what it prints. */
export function readFrom(
  { position }: Plan,
  past: RecordLog | undefined,
  first: RecordLine | undefined,
): number {
  const looksAtAll = position.kind === 'last' && position.lines === Number.POSITIVE_INFINITY
  const seq = looksAtAll ? past?.segments[0]?.number : first?.record.seq
  return (seq ?? 1) - 1
}

/** Everyone that some record is about. */
async function knownPersonas(past: RecordLog, signal: AbortSignal): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { record } of withTurns(past.forwards(), signal)) {
    if (record.agent !== undefined && !isJournalRecord(record)) names.add(record.agent)
  }
  return names
}

/** A refusal for each name that no record is about; none where the look ended before it came to the records that are. */
export async function unknownPersonas(
  past: RecordLog,
  seen: SeenPersonas,
  signal: AbortSignal,
): Promise<readonly KimError[]> {
  if (seen.unseen.length === 0) return []
  const known = await knownPersonas(past, signal)
  if (signal.aborted) return []
  return seen.unseen.filter(name => !known.has(name)).map(name => noPersona(name, known))
}

/** Refuses the first of them. */
export async function requireKnown(past: RecordLog, seen: SeenPersonas, signal: AbortSignal): Promise<void> {
  const [refusal] = await unknownPersonas(past, seen, signal)
  if (refusal !== undefined) throw refusal
}

/** How much waits, and since when. */
export async function countBacklog(
  entries: Iterable<RecordLine> | AsyncIterable<RecordLine>,
  nowMs: number,
): Promise<{ readonly backlog: number; readonly oldest: string | undefined }> {
  let backlog = 0
  let oldest: number | undefined
  for await (const { record } of entries) {
    if (backlog === 0) oldest = recordTimeMs(record.ts)
    backlog += 1
  }
  return { backlog, oldest: oldest === undefined ? undefined : age(oldest, nowMs) }
}
