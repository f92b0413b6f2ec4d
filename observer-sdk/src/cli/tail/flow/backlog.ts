import type { KimError } from '@kim/manifest'
import { type Entry, isNote } from '../entry.js'
import { noPersona } from '../missing.js'
import type { Plan } from '../plan.js'
import type { PastRecords } from '../read/history.js'
import { type Acquaintance, allEntries, lastEntries } from '../read/last.js'
import { type Step, unhurried } from '../read/unhurried.js'
import { age, timeOf } from '../render/clock.js'

/**
 * What a plan without a cursor selects of what stands there, up to a seq, in file order. Where it is everything, it is
 * read anew each time it is gone through, and never held whole: a backlog may be larger than memory.
 * Ends early once the signal is aborted.
 */
export async function pastEntries(
  past: PastRecords,
  plan: Plan,
  selects: (entry: Entry) => boolean,
  met: Acquaintance,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): Promise<Iterable<Entry> | AsyncIterable<Entry>> {
  const { position } = plan
  const lines = position.kind === 'last' || position.kind === 'since' ? position.lines : 0
  const wanted = {
    selects: (entry: Entry) => entry.record.seq <= toSeq && selects(entry),
    personas: plan.selection.personas,
    lines,
    sinceMs: position.kind === 'since' ? position.ms : undefined,
  }
  if (!Number.isFinite(lines))
    return { [Symbol.asyncIterator]: () => unhurried(allEntries(past, wanted, met), signal) }
  const found: Entry[] = []
  for await (const entry of unhurried(lastEntries(past, wanted, met), signal)) found.push(entry)
  return found
}

/** What is selected of what stands behind a seq, up to another. Ends early once the signal is aborted. */
export function entriesBehind(
  past: PastRecords,
  seq: number,
  selects: (entry: Entry) => boolean,
  signal: AbortSignal,
  toSeq: number = Number.POSITIVE_INFINITY,
): AsyncIterable<Entry> {
  function* steps(): Generator<Step> {
    if (seq >= toSeq) return
    for (const entry of past.forwards(past.segmentOf(seq + 1)?.number)) {
      const isBehind = entry.record.seq > seq && entry.record.seq <= toSeq
      yield isBehind && selects(entry) ? entry : undefined
    }
  }
  return unhurried(steps(), signal)
}

/** The seq above which a look that found this first answers for every number: all of them, or what it prints. */
export function readFrom(
  { position }: Plan,
  past: PastRecords | undefined,
  first: Entry | undefined,
): number {
  const looksAtAll = position.kind === 'last' && position.lines === Number.POSITIVE_INFINITY
  const seq = looksAtAll ? past?.segments[0]?.number : first?.record.seq
  return (seq ?? 1) - 1
}

/** Everyone that some record is about. */
async function knownPersonas(past: PastRecords, signal: AbortSignal): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { record } of unhurried(past.forwards(), signal)) {
    if (record.agent !== undefined && !isNote(record)) names.add(record.agent)
  }
  return names
}

/** A refusal for each name that no record is about; none where the look ended before it came to the records that are. */
export async function unknownPersonas(
  past: PastRecords,
  met: Acquaintance,
  signal: AbortSignal,
): Promise<readonly KimError[]> {
  if (met.unmet.length === 0) return []
  const known = await knownPersonas(past, signal)
  if (signal.aborted) return []
  return met.unmet.filter(name => !known.has(name)).map(name => noPersona(name, known))
}

/** Refuses the first of them. */
export async function requireKnown(past: PastRecords, met: Acquaintance, signal: AbortSignal): Promise<void> {
  const [refusal] = await unknownPersonas(past, met, signal)
  if (refusal !== undefined) throw refusal
}

/** How much waits, and since when. */
export async function backlogOf(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  nowMs: number,
): Promise<{ readonly backlog: number; readonly oldest: string | undefined }> {
  let backlog = 0
  let oldest: number | undefined
  for await (const { record } of entries) {
    if (backlog === 0) oldest = timeOf(record.ts)
    backlog += 1
  }
  return { backlog, oldest: oldest === undefined ? undefined : age(oldest, nowMs) }
}
