/** One message's life, and what delayed it. */
import { formatCount, formatDuration, type RecordName } from '@kim/cli-kit'
import { KimError, type ReadRecord } from '@kim/manifest'
import type { JournalCopy, PassControl, RangeVerdict } from '@kim/observer-sdk/verify'
import { type HostEvent, HostTime, liesWithin, ProducerRuns } from './host-clocks.js'
import { type Alarm, Alarms, Life, type LifeStep } from './message-life.js'
import { notFound } from './not-found.js'
import { Payloads } from './payloads.js'
import { Reading, readWhole, startOf } from './reading.js'
import { isNamed, isOfNamed, SeenNames } from './state-at.js'
import { timestampMs } from './timestamp.js'

/** A time at which no producer ran. */
interface ProducerGap {
  readonly from_seq: number
  readonly from_ts: string | null
  readonly to_seq: number
  readonly to_ts: string | null
  /** As far as it is between creation and append. */
  readonly ms: number
  /** Whether a note says that the run before it stopped. */
  readonly stopped: boolean
  /** The writer before it was a store command, not a producer. */
  readonly after_command: boolean
  /** Records are missing there: another producer may have run. */
  readonly records_missing: boolean
}

/** A record that came into the journal long after the answer that brought it. */
interface CommitWait {
  readonly seq: number
  readonly ts: string | null
  readonly ms: number
}

/** A shorter wait is how long a disk takes. */
const COMMIT_WAIT_MS = 1000

/** What the journal knows of a persona's liveness. */
interface Liveness {
  readonly seq: number
  readonly ts: string | null
  readonly event: string | null
  readonly state: string | null
}

/** What `explain` reports. */
export interface Explanation {
  readonly item_type: string
  readonly item_id: string
  readonly persona: string | null
  readonly steps: readonly LifeStep[]
  /** Between creation and append. */
  readonly host: readonly HostEvent[]
  readonly producer_gaps: readonly ProducerGap[]
  /** The longest time in which polled mail could not be appended; null if no time was long. */
  readonly commit_wait: CommitWait | null
  /** Alerts of its persona that were open at some time between creation and its last record. */
  readonly alarms: readonly Alarm[]
  /** The persona's own records just before the append and until its last one. */
  readonly liveness: readonly Liveness[]
  /** What the journal cannot tell. */
  readonly unknown: readonly string[]
  readonly missing: RangeVerdict
}

const LIVENESS_MAX = 200

/** Reports what the journal contains of the entity that a record is about. Throws `no_record` if there is no such record. */
export async function explain(
  history: JournalCopy,
  name: RecordName,
  control: PassControl = {},
): Promise<Explanation> {
  const target = await find(history, name, control)
  const { item_type, item_id } = target
  if (item_id === undefined)
    throw new KimError('no_record', `cannot explain seq ${target.seq}: the record is about no entity`, {
      hint: `it is a ${target.action} of ${item_type}; name a message, such as river:new:246`,
    })
  const payloads = new Payloads(history.eventsDir)
  const { agent, ...first } = await firstOf(history, target, control)
  const payload = payloads.of(first)
  const stated = payload?.['persona']
  const persona = item_type === 'journal' ? null : typeof stated === 'string' ? stated : (agent ?? null)
  const createdMs = item_type === 'message' ? timestampMs(payload?.['created']) : Number.NaN

  const life = new Life()
  const runs = new ProducerRuns()
  const alarms = new Alarms(persona ?? '')
  const watched = new HostTime(createdMs)
  const liveness: Liveness[] = []
  let around: Liveness | undefined
  let commitWait: CommitWait | null = null
  const take = (record: ReadRecord): void => {
    if (life.last === undefined) {
      watched.take(record)
      // The longest of those that ended after it was created; a record before that, or without a time, does not count.
      const { seq, ts = null, clock } = record
      const ms = clock?.wait_ms ?? 0
      const isAfter = timestampMs(ts) >= createdMs
      if (ms >= COMMIT_WAIT_MS && isAfter && ms > (commitWait?.ms ?? 0)) commitWait = { seq, ts, ms }
    }
    if (record.writer !== undefined) runs.take(record)
    const isOfItem = record.item_type === item_type && record.item_id === item_id
    const isOfPersona = record.item_type === 'persona' && record.item_id === persona
    if (!isOfItem && !isOfPersona && record.item_type !== 'alert') return
    const whole = { ...record, payload: payloads.of(record) }
    alarms.take(whole)
    if (isOfItem) {
      life.take(whole)
      if (around !== undefined) liveness.push(around)
      around = undefined
    }
    if (!isOfPersona) return
    const { seq, ts = null, event = null } = record
    const state = whole.payload?.['state']
    around = { seq, ts, event, state: typeof state === 'string' ? state : null }
  }
  const reading = await readWhole(history, { applied: ({ record }) => take(record) }, control)
  const host = life.appended === undefined ? new HostTime(createdMs) : watched
  const appendedMs = timestampMs(life.appended?.ts)
  const since = Number.isNaN(createdMs) ? appendedMs : createdMs - host.disagreementMs
  const missing = reading.close(payloads)
  return {
    item_type,
    item_id,
    persona,
    steps: life.steps,
    host: host.events,
    producer_gaps: runs.gaps(since, appendedMs).map(({ from, to, ms }) => ({
      from_seq: from.to_seq,
      from_ts: from.to_ts,
      to_seq: to.from_seq,
      to_ts: to.from_ts,
      ms,
      stopped: from.stopped,
      after_command: from.isCommand,
      records_missing: liesWithin(missing.holes, { from: from.to_seq, to: to.from_seq }),
    })),
    commit_wait: life.appended === undefined ? null : commitWait,
    alarms: alarms.within(since, timestampMs(life.last?.ts), life.span),
    liveness: liveness.slice(-LIVENESS_MAX),
    unknown: unknownOf(life, host, createdMs, timestampMs(runs.all[0]?.from_ts)),
    missing,
  }
}

function unknownOf(life: Life, host: HostTime, createdMs: number, begins: number): string[] {
  const unknown = [...life.unknown]
  // If the clock was set back, a time before the first record is no time before the journal.
  if (createdMs < begins && !host.isSetBack)
    unknown.push('the time before the first record: the message is older than the available journal')
  if (host.unclocked > 0 && !Number.isNaN(createdMs))
    unknown.push(
      `whether the host slept: ${formatCount(host.unclocked, 'record')} of that time without the clocks that show it`,
    )
  if (host.disagreementMs > 0)
    unknown.push(
      `the delay: by the server's clock the message was created ${formatDuration(host.disagreementMs)} after it arrived here, so the two clocks disagree. Sleeps, clock changes and producer stops from before ${host.isSetBack ? 'the clock was set back' : 'the record that precedes the message'} may have delayed it too; they are not listed above`,
    )
  unknown.push('when kim-tail or another reader printed it, because readers leave no trace in the journal')
  return unknown
}

/** The record that has the name; if that is lost, any other one of the entity. */
async function find(history: JournalCopy, name: RecordName, control: PassControl): Promise<ReadRecord> {
  let target: ReadRecord | undefined
  let other: ReadRecord | undefined
  const { projectId } = history
  const seen = new SeenNames(name)
  // Older records that are not available do not count as missing here.
  const reading = new Reading(
    { ...startOf(history), late: undefined },
    {
      applied: ({ record }) => {
        seen.take(record)
        if (target === undefined && isNamed(record, name, projectId)) target = record
        if (other === undefined && isOfNamed(record, name)) other = record
      },
      settled: () => target === undefined,
    },
  )
  await history.walk(reading, control)
  const found = target ?? other
  if (found !== undefined) return found
  throw notFound(name, seen, reading.close())
}

/** The first record of the entity that a record is about: a later one may not state its creation, or another one. */
async function firstOf(history: JournalCopy, target: ReadRecord, control: PassControl): Promise<ReadRecord> {
  // Nothing is before a first revision.
  if (target.entity_rev === 1) return target
  let first: ReadRecord | undefined
  await readWhole(
    history,
    {
      applied: ({ record }) => {
        if (first === undefined && record.item_id === target.item_id && record.item_type === target.item_type)
          first = record
      },
      settled: () => first === undefined,
    },
    control,
  )
  return first ?? target
}
