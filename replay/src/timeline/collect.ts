/** Lays a journal out in time, in one pass. */
import { formatDuration } from '@kim/cli-kit'
import { alertKinds, type Effect, type ReadRecord, type SeqRange } from '@kim/manifest'
import { firstCodePoints } from '@kim/monitor'
import type { JournalCopy, PassControl } from '@kim/observer-sdk/verify'
import { hostEvents, liesWithin, ProducerRuns } from '../host-clocks.js'
import { unknownPersona } from '../not-found.js'
import { Payloads } from '../payloads.js'
import { type Applied, Reading, startOf } from '../reading.js'
import { type RedactMode, Redactor } from '../redactor.js'
import { timestampMs } from '../timestamp.js'
import { LatencyBins, MarkStore, Slowest, SpanStore } from './marks-and-spans.js'
import { type ClockSet, MARK_KINDS, type MarkKind, type Timeline } from './timeline.js'

/** What is asked for. */
export interface TimelineRequest {
  readonly fromMs: number
  readonly toMs: number
  readonly personas: readonly string[]
  readonly mode: RedactMode
  readonly title: string
  readonly createdMs: number | undefined
  /** Most marks that are kept one by one. */
  readonly marksMax?: number | undefined
}

/** The lane of what no persona did: no persona can be called so. */
const PRODUCER = Symbol('producer')
const PRODUCER_SHOWN = '(producer)'

/** Lays a journal out. Throws `no_persona` for a name that the journal does not know. */
export async function collectTimeline(
  history: JournalCopy,
  request: TimelineRequest,
  control: PassControl = {},
): Promise<Timeline> {
  const collector = new Collector(request)
  const payloads = new Payloads(history.eventsDir)
  const reading: Reading = new Reading(startOf(history), {
    applied: applied => {
      const { record } = applied
      const { item_type, item_id, payload_ref } = record
      if (payload_ref === undefined || item_id === undefined) collector.take(applied, reading.places)
      else {
        const entity = reading.entities.get(item_type, item_id)
        const payload = entity === undefined ? undefined : payloads.of(entity)
        collector.take({ ...applied, record: { ...record, payload } }, reading.places)
      }
    },
  })
  await history.walk(reading, control)
  const missing = reading.close(payloads)
  for (const name of request.personas)
    if (!collector.known.has(name)) throw unknownPersona(name, collector.known, missing)
  return collector.close(history.projectId, missing.findings, missing.holes)
}

interface Break {
  readonly seq: number
  readonly t: number
  readonly afterSeq: number
  readonly afterT: number
}

const BREAKS_MAX = 20_000
const CLOCK_SET_MAX = 1000

class Collector {
  readonly known: Set<string> = new Set()
  readonly #request: TimelineRequest
  readonly #redactor: Redactor
  readonly #marks: MarkStore
  readonly #spans: SpanStore
  readonly #latency = new LatencyBins()
  readonly #slowest = new Slowest()
  readonly #runs = new ProducerRuns()
  readonly #lanes = new Map<string | symbol, number>([[PRODUCER, 0]])
  readonly #breaks: Break[] = []
  readonly #clockSet: ClockSet[] = []
  #places = 0
  #before: ReadRecord | undefined
  #records = 0
  #undated = 0
  #first: { readonly t: number; readonly seq: number } | undefined
  #lastShown = 0
  #last: { readonly t: number; readonly seq: number } | undefined
  #earliest = Number.POSITIVE_INFINITY
  #latest = Number.NEGATIVE_INFINITY

  constructor(request: TimelineRequest) {
    this.#request = request
    this.#redactor = new Redactor(request.mode)
    this.#marks = new MarkStore(request.marksMax)
    this.#spans = new SpanStore(request.fromMs, request.toMs)
  }

  take({ record, effect, before }: Applied, places: number): void {
    const { agent, item_type, seq, ts } = record
    if (agent !== undefined && item_type !== 'journal') this.known.add(agent)
    const t = timestampMs(ts)
    if (Number.isNaN(t)) {
      this.#undated += 1
      return
    }
    const isClockSet = this.#host(record, t)
    if (record.writer !== undefined) this.#runs.take(record, isClockSet)
    const { fromMs, toMs, personas } = this.#request
    if (places > this.#places && this.#last !== undefined && this.#breaks.length < BREAKS_MAX) {
      const after = this.#last
      if (t >= fromMs && Math.min(after.t, t) <= toMs)
        this.#breaks.push({ seq, t, afterSeq: after.seq, afterT: after.t })
    }
    this.#places = places
    this.#last = { t, seq }
    if (agent === undefined || item_type === 'journal') return
    if (personas.length > 0 && !personas.includes(agent)) return
    const lane = this.#laneOf(agent)
    this.#follow(record, lane, t)
    if (t < fromMs || t > toMs) return
    this.#records += 1
    this.#first ??= { t, seq }
    this.#lastShown = seq
    this.#earliest = Math.min(this.#earliest, t)
    this.#latest = Math.max(this.#latest, t)
    const kind = kindOf(record, effect, before?.payload?.['read'] === true)
    const isUnread = record.payload_ref !== undefined && record.payload === undefined
    const label = this.#labelOf(record)
    const ms = kind === 'new' && !isUnread ? this.#latency.take(record) : undefined
    if (ms !== undefined && this.#slowest.isSlow(ms)) this.#slowest.add({ ms, lane, seq, t, label })
    this.#marks.add(t, lane, kind, seq, label)
  }

  close(projectId: string, missing: Timeline['missing'], holes: readonly SeqRange[]): Timeline {
    const { fromMs, toMs, mode, title, createdMs } = this.#request
    this.#producer(holes)
    for (const { afterSeq, afterT, seq, t } of this.#breaks) {
      const inside = holes.filter(({ from, to }) => from > afterSeq && to < seq)
      if (inside.length === 0) continue
      const label = `seq ${inside.map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`)).join(', ')} missing`
      const from = Math.min(afterT, t)
      this.#spans.add({ lane: 0, kind: 'gap', from, to: t, from_seq: afterSeq, to_seq: seq, label })
    }
    const names = [...this.#lanes.keys()].filter(name => typeof name === 'string').sort()
    const lanes = [PRODUCER, ...names]
    const laneOf: number[] = []
    for (const [name, lane] of this.#lanes) laneOf[lane] = lanes.indexOf(name)
    const spans = this.#spans.close(laneOf)
    const times = spans.flatMap(({ from, to }) => [
      Math.max(from, fromMs),
      ...(to === null ? [] : [Math.min(to, toMs)]),
    ])
    const from = times.reduce((a, b) => Math.min(a, b), this.#earliest)
    const to = times.reduce((a, b) => Math.max(a, b), this.#latest)
    const created = createdMs ?? this.#last?.t
    return {
      title,
      created: created === undefined ? null : new Date(created).toISOString(),
      project_id: this.#redactor.project(projectId),
      redact: mode,
      from_ms: Number.isFinite(from) ? from : null,
      to_ms: Number.isFinite(to) ? to : null,
      from_seq: this.#first?.seq ?? null,
      to_seq: this.#records === 0 ? null : this.#lastShown,
      records: this.#records,
      undated: this.#undated,
      lanes: lanes.map(name => (typeof name === 'string' ? this.#redactor.persona(name) : PRODUCER_SHOWN)),
      kinds: MARK_KINDS,
      counts: lanes.map(name => this.#marks.countsOf(this.#lanes.get(name) ?? 0)),
      marks: this.#marks.marks(laneOf),
      bins: this.#marks.bins(laneOf),
      spans,
      spans_left_out: this.#spans.leftOut,
      clock_set: this.#clockSet,
      latency: this.#latency.close(),
      slowest: this.#slowest.close(laneOf),
      missing,
    }
  }

  /** Alerts and outages of a persona. */
  #follow({ item_type, item_id = '', action, payload, seq }: ReadRecord, lane: number, t: number): void {
    if (item_type === 'alert') {
      const kind = payload?.['kind']
      const own = typeof kind === 'string' ? kind : item_id.slice(item_id.lastIndexOf('/') + 1)
      const name = this.#redactor.word(own)
      const reason = payload?.['reason']
      // A reason often begins with the kind, which stands before it anyway.
      const words =
        typeof reason === 'string' ? reason.slice(reason.startsWith(`${own}: `) ? own.length + 2 : 0) : ''
      const why = words === '' ? '' : `: ${this.#redactor.prose(words.slice(0, 200))}`
      const key = `alert ${item_id}`
      if (action === 'delete' || payload?.['status'] !== 'open') this.#spans.end(key, t, seq)
      else
        this.#spans.begin(key, {
          lane,
          kind: alertKinds.get(own)?.is_outage ? 'outage' : 'alert',
          from: t,
          from_seq: seq,
          label: `${name.slice(0, 60)}${why}`,
        })
    }
    if (item_type === 'persona') {
      const key = `down ${item_id}`
      if (payload?.['state'] === 'down')
        this.#spans.begin(key, { lane, kind: 'down', from: t, from_seq: seq, label: 'down' })
      else this.#spans.end(key, t, seq)
    }
  }

  /**
   * Where the host slept between two records, which of the time between them is not known, only how much; where its
   * clock was set, which it tells.
   */
  #host(record: ReadRecord, t: number): boolean {
    const before = this.#before
    this.#before = record
    if (before === undefined || this.#last === undefined) return false
    let isClockSet = false
    for (const { kind, from_seq, to_seq, ms } of hostEvents(before, record)) {
      if (kind === 'clock_set') isClockSet = true
      if (kind === 'clock_set' && this.#clockSet.length < CLOCK_SET_MAX) {
        this.#clockSet.push({ from_seq, to_seq, ms: ms ?? 0 })
        this.#spans.cut(this.#last, { t, seq: record.seq })
      }
      if (kind !== 'suspended') continue
      const label = `the host slept ${formatDuration(ms ?? 0)} of that time`
      const from = Math.min(this.#last.t, t)
      this.#spans.add({ lane: 0, kind, from, to: t, from_seq, to_seq, label })
    }
    return isClockSet
  }

  #producer(holes: readonly SeqRange[]): void {
    const runs = this.#runs.all
    for (const [i, { from_ts, to_ts, to_seq, parts, stopped, isCommand, writer }] of runs.entries()) {
      const [from, to] = [timestampMs(from_ts), timestampMs(to_ts)]
      if (Number.isNaN(from) || Number.isNaN(to)) continue
      const name = this.#request.mode === 'none' ? ` ${writer ?? ''}` : ''
      for (const part of parts) {
        const end = part !== parts.at(-1) ? ', until the clock was set' : stopped ? ', stopped' : ''
        const { low_ms, high_ms, ...seqs } = part
        const label = `run${name}${end}`
        this.#spans.add({ lane: 0, kind: 'run', from: low_ms, to: high_ms, ...seqs, label })
      }
      const next = runs[i + 1]
      const begin = timestampMs(next?.from_ts)
      if (next === undefined || Number.isNaN(begin)) continue
      // By the clock as it went on after it, if it was set meanwhile.
      const end = to + next.set_ms
      if (begin <= end) continue
      const between = { from: to_seq, to: next.from_seq }
      const label = liesWithin(holes, between)
        ? 'no producer, for at most this long: the records that would show it are missing'
        : isCommand
          ? 'no producer: the writer before was a store command (repair, redact or import)'
          : stopped
            ? 'no producer: it had been stopped'
            : 'no producer, for at most this long: the one before ended without a note'
      const seqs = { from_seq: to_seq, to_seq: next.from_seq }
      this.#spans.add({ lane: 0, kind: 'no_producer', from: end, to: begin, ...seqs, label })
    }
  }

  #laneOf(persona: string): number {
    const known = this.#lanes.get(persona)
    if (known !== undefined) return known
    const lane = this.#lanes.size
    this.#lanes.set(persona, lane)
    return lane
  }

  #labelOf({ item_type, item_id, action, event, payload, summary }: ReadRecord): string {
    const id = item_id === undefined ? '' : this.#redactor.id(item_type, item_id)
    const head = `${this.#redactor.word(event ?? action)} ${this.#redactor.word(item_type)} ${id}`.slice(
      0,
      200,
    )
    if (this.#request.mode !== 'none') return head
    const written = [summary, payload?.['content']].filter(text => typeof text === 'string')
    return [head, ...written.map(text => firstCodePoints(text, 200))].join(': ')
  }
}

function kindOf(
  { item_type, action, event, payload }: ReadRecord,
  effect: Effect,
  wasRead: boolean,
): MarkKind {
  if (effect === 'remove') return 'removed'
  if (item_type === 'message' && effect === 'upsert') {
    if (action === 'backfill') return 'backfill'
    if (event === 'new') return 'new'
    if (action === 'create') return 'silent'
    return payload?.['read'] === true && !wasRead ? 'read' : 'other'
  }
  if (item_type === 'alert') return 'alert'
  return event === undefined ? 'other' : 'event'
}
