import type { Io, StoreLocation } from '@kim/cli-kit'
import { formatCursorToken, type ReadRecord } from '@kim/manifest'
import { noStore } from '../missing.js'
import type { Plan } from '../plan.js'
import { createFacts } from '../read/facts.js'
import { MissingSegments } from '../read/missing-segments.js'
import { SeenPersonas } from '../read/query-records.js'
import { RecordLog } from '../read/record-log.js'
import type { RecordLine } from '../record-line.js'
import { countBacklog, pastEntries, readFrom, requireKnown } from './backlog.js'
import { endOf, exitCodeOf } from './end.js'
import { producerState } from './health.js'
import { lookEnd } from './look-end.js'
import { Printer } from './printer.js'
import { tellGap } from './tell-gap.js'

/** Prints what stands there and is done: the way every quick look takes, so it loads and reads little. */
export async function listPast(plan: Plan, location: StoreLocation, io: Io): Promise<number> {
  const past = RecordLog.open(location.eventsDir)
  if (past === undefined) throw noStore(location)
  const facts = createFacts(location.eventsDir)
  const printer = await Printer.create(plan, facts, io)
  const { out, report } = printer
  const seen = new SeenPersonas(plan.selection.personas)
  const isAgent = plan.mode === 'agent'
  const newest = isAgent || plan.showCursor || plan.sayCaughtUp ? past.newest()?.record : undefined
  const headSeq = newest?.seq ?? 0
  let place: Pick<ReadRecord, 'seq' | 'writer'> = newest ?? { seq: 0, writer: undefined }
  let last: RecordLine | undefined
  // The first line already says how many there are: no more than that may be printed.
  const signal = lookEnd(io.signal, printer.stop)
  const entries = await pastEntries(past, plan, printer.selects, seen, signal, isAgent ? headSeq : undefined)
  if (isAgent) {
    const waiting = await countBacklog(entries, Date.now())
    await requireKnown(past, seen, signal)
    report.ready({ seq: headSeq, ...waiting, producer: producerState(location).state })
  }
  let isDone = printer.stop.isDone
  const { position } = plan
  let isEmpty = !isDone && !('lines' in position && position.lines === 0)
  const missing = new MissingSegments(() => past)
  const flush = (): Promise<void> => out.flush()
  let read: number | undefined
  for await (const entry of entries) {
    isEmpty = false
    if (isDone || signal.aborted) {
      // What was not printed is still to come, for whoever goes on from there.
      place = last?.record ?? { seq: entry.record.seq - 1, writer: undefined }
      break
    }
    read ??= readFrom(plan, past, entry)
    for (const gap of missing.between(read, entry.record.seq)) await tellGap(gap, plan, report, flush)
    read = entry.record.seq
    last = entry
    // It may have come after the head was looked at.
    if (entry.record.seq > place.seq) place = entry.record
    isDone = printer.print(entry)
    if (out.isFull) await out.flush()
  }
  if (!isDone) await requireKnown(past, seen, signal)
  const end = signal.aborted && (io.signal.aborted || !isDone) ? endOf(signal.reason) : undefined
  // Ended before it found where to begin: whoever goes on has to begin as this one did.
  const isCut = end !== undefined && !isDone && last === undefined
  if (end !== undefined && !isDone && last !== undefined) place = last.record
  printer.settleRate(true)
  report.unreadable(past.failures)
  if (isEmpty && end === undefined) report.nothing()
  if (plan.sayCaughtUp) report.caughtUp(headSeq)
  const { toSeq } = plan.selection
  if (toSeq !== undefined && toSeq < place.seq) place = { seq: toSeq, writer: undefined }
  if (plan.showCursor && !isCut) {
    const { seq, writer = null } = place
    report.cursor(formatCursorToken({ projectId: facts.projectId(), seq, writer }))
  }
  report.end(end ?? 'done', isCut ? undefined : `--after-seq ${place.seq}`)
  await out.flush()
  const wantsMatch = plan.untilMatch !== undefined
  if (end !== undefined) return exitCodeOf(end, printer.stop, { isAgent, wantsMatch })
  return isDone || !wantsMatch ? 0 : 3
}
