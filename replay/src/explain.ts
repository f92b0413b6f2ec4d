/** One message's life, and what stood in its way. */
import { formatCount, formatDuration } from '@kim/cli-kit'
import { KimError, type ReadRecord } from '@kim/manifest'
import type { PassOptions } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { type EventName, nearer } from './event-name.js'
import { walkLines } from './line-walk.js'
import { notFound } from './not-found.js'
import { Payloads } from './payloads.js'
import { isNamed } from './point.js'
import { Reading } from './reading.js'
import { paceFrom } from './state-at.js'
import { type Alarm, Alarms } from './story/alarms.js'
import { type HostEvent, HostTime } from './story/host-time.js'
import { Life, type LifeStep } from './story/life.js'
import { liesWithin, ProducerRuns } from './story/producer-runs.js'
import { timestampMs } from './timestamp.js'

/** A time at which no producer ran. */
interface ProducerGap {
  readonly from_seq: number
  readonly from_ts: string | null
  readonly to_seq: number
  readonly to_ts: string | null
  /** As far as it lies between creation and append. */
  readonly ms: number
  /** Whether the run before it said that it stops. */
  readonly stopped: boolean
  /** Records are missing there: another producer may have run. */
  readonly records_missing: boolean
}

/** A record that came into the journal long after the answer that brought it. */
interface CommitWait {
  readonly seq: number
  readonly ts: string | null
  readonly ms: number
}

/** Less than this is how long a disk takes. */
const COMMIT_WAIT_MS = 1000

/** What the journal knows of a persona's liveness. */
interface Liveness {
  readonly seq: number
  readonly ts: string | null
  readonly event: string | null
  readonly state: string | null
}

/** What `explain` tells. */
export interface Explanation {
  readonly item_type: string
  readonly item_id: string
  readonly persona: string | null
  readonly steps: readonly LifeStep[]
  /** Between creation and append. */
  readonly host: readonly HostEvent[]
  readonly producer_gaps: readonly ProducerGap[]
  /** The longest time in which what was polled could not be appended; null if there was none to speak of. */
  readonly commit_wait: CommitWait | null
  /** Of its persona, open at some time between creation and its last record. */
  readonly alarms: readonly Alarm[]
  /** The persona's own records just before the append and until its last one. */
  readonly liveness: readonly Liveness[]
  readonly unknown: readonly string[]
  readonly missing: Missing
}

const LIVENESS_MAX = 200

/** Tells what the journal holds of the item that a record is about. Throws `no_record` where there is none. */
export async function explain(
  journal: CopiedJournal,
  name: EventName,
  options: PassOptions,
): Promise<Explanation> {
  const target = await find(journal, name, options)
  const { item_type, item_id } = target
  if (item_id === undefined)
    throw new KimError('no_record', `cannot explain seq ${target.seq}: the record is about no item`, {
      hint: `it is a ${target.action} of ${item_type}; name a message, such as river:new:246`,
    })
  const payloads = new Payloads(journal.eventsDir)
  const { agent, ...first } = await firstOf(journal, target, options)
  const payload = payloads.of(first)
  const stated = payload?.['persona']
  const persona = item_type === 'journal' ? null : typeof stated === 'string' ? stated : (agent ?? null)
  const created = payload?.['created']
  const createdMs = item_type === 'message' ? timestampMs(created) : Number.NaN

  const life = new Life()
  const runs = new ProducerRuns()
  const alarms = new Alarms(persona ?? '')
  const watched = new HostTime(createdMs)
  const liveness: Liveness[] = []
  let around: Liveness | undefined
  let commitWait: CommitWait | null = null
  const reading = new Reading(
    { after: journal.first - 1 },
    {
      applied: ({ record }) => {
        if (life.last === undefined) {
          watched.take(record)
          commitWait = longer(commitWait, record, createdMs)
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
        const state = whole.payload?.['state']
        around = {
          seq: record.seq,
          ts: record.ts ?? null,
          event: record.event ?? null,
          state: typeof state === 'string' ? state : null,
        }
      },
    },
  )
  await walkLines(journal, reading, paceFrom(journal, undefined, options))
  if (journal.first > 1) reading.damage.startsAt(journal.first)
  const host = life.appended === undefined ? new HostTime(createdMs) : watched
  const appendedMs = timestampMs(life.appended?.ts)
  const lastMs = timestampMs(life.last?.ts)
  const since = Number.isNaN(createdMs) ? appendedMs : createdMs - host.disagreementMs
  const missing = reading.damage.close(journal, payloads.faults)
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
      records_missing: liesWithin(missing.holes, { from: from.to_seq, to: to.from_seq }),
    })),
    commit_wait: life.appended === undefined ? null : commitWait,
    alarms: alarms.within(since, lastMs, life.span),
    liveness: liveness.slice(-LIVENESS_MAX),
    unknown: unknownOf(life, host, createdMs, timestampMs(runs.all[0]?.from_ts)),
    missing,
  }
}

/** The longer wait of those that ended after a message was made: a record before it, or without a time, says nothing of it. */
function longer(
  known: CommitWait | null,
  { seq, ts, clock }: ReadRecord,
  createdMs: number,
): CommitWait | null {
  const ms = clock?.wait_ms ?? 0
  if (ms < COMMIT_WAIT_MS || !(timestampMs(ts) >= createdMs) || ms <= (known?.ms ?? 0)) return known
  return { seq, ts: ts ?? null, ms }
}

function unknownOf(life: Life, host: HostTime, createdMs: number, begins: number): string[] {
  return [
    ...life.unknown,
    // Where the clock was set back, a time before the first record is no time before the journal.
    ...(createdMs < begins && !host.isSetBack
      ? ['the time before the first record: the message is older than the available journal']
      : []),
    ...(host.unclocked > 0 && !Number.isNaN(createdMs)
      ? [
          `host: ${formatCount(host.unclocked, 'record')} of that time without both clocks, so a suspended host would not show`,
        ]
      : []),
    ...(host.disagreementMs > 0
      ? [
          `duration: the two clocks disagree (the message arrived ${formatDuration(host.disagreementMs)} before it was created), so the facts about host and producers begin ${host.isSetBack ? 'when the clock was set back' : 'at the record before it'}`,
        ]
      : []),
    'read by an observer: observers leave no trace in the journal',
  ]
}

/** The record that bears the name; where that is lost, any other one of the item. */
async function find(journal: CopiedJournal, name: EventName, options: PassOptions): Promise<ReadRecord> {
  let target: ReadRecord | undefined
  let other: ReadRecord | undefined
  const personas = new Set<string>()
  let nearest: number | undefined
  const reading = new Reading(
    { after: journal.first - 1 },
    {
      applied: ({ record }) => {
        if (record.agent !== undefined && record.item_type !== 'journal') personas.add(record.agent)
        nearest = nearer(name, record, nearest)
        if (target === undefined && isNamed(record, name, journal.projectId)) target = record
        if (other === undefined && isOfNamed(record, name)) other = record
      },
      settled: () => target === undefined,
    },
  )
  await walkLines(journal, reading, paceFrom(journal, undefined, options))
  const found = target ?? other
  if (found !== undefined) return found
  throw notFound(name, { personas, nearest }, reading.damage.close(journal))
}

/** The first record of the item that a record is about: a later one may say nothing of its creation, or another thing. */
async function firstOf(
  journal: CopiedJournal,
  target: ReadRecord,
  options: PassOptions,
): Promise<ReadRecord> {
  // Before a first revision there is none.
  if (target.entity_rev === 1) return target
  let first: ReadRecord | undefined
  const reading = new Reading(
    { after: journal.first - 1 },
    {
      applied: ({ record }) => {
        if (first === undefined && record.item_id === target.item_id && record.item_type === target.item_type)
          first = record
      },
      settled: () => first === undefined,
    },
  )
  await walkLines(journal, reading, paceFrom(journal, undefined, options))
  return first ?? target
}

/** Whether a record is about the message that a name names. */
function isOfNamed({ item_type, item_id }: ReadRecord, name: EventName): boolean {
  return name.kind === 'message' && item_type === 'message' && item_id === `${name.persona}/${name.id}`
}
