/** What the clocks in records say about the host and its producer: sleep, reboots, a clock that was set, runs and gaps. */
import type { ReadRecord, SeqRange } from '@kim/manifest'
import { timestampMs } from './timestamp.js'

/** The time between two records by each clock; null if that clock does not tell. */
export interface ClockSpan {
  readonly wall_ms: number | null
  /** Without sleep. */
  readonly mono_ms: number | null
  /** With sleep. */
  readonly boot_ms: number | null
  /** How long the host slept. */
  readonly suspended_ms: number | null
  /** The machine was rebooted in between. */
  readonly rebooted: boolean
}

/** Shorter differences between the clocks are how exactly they are read, not sleep. */
const JITTER_MS = 100
/** A shorter sleep is not reported: a busy host shows as much. */
const SLEEP_MS = 1000
/** A smaller step is how a clock is kept right, not set. */
const CLOCK_SET_MS = 2000

/** From one record to a later one. */
export function spanBetween(from: ReadRecord, to: ReadRecord): ClockSpan {
  const wall = timestampMs(to.ts) - timestampMs(from.ts)
  const wall_ms = Number.isNaN(wall) ? null : wall
  const rebooted = isReboot(from, to, wall_ms)
  if (rebooted) return { wall_ms, mono_ms: null, boot_ms: null, suspended_ms: null, rebooted }
  const mono_ms = delta(from.clock?.mono_ms, to.clock?.mono_ms)
  const boot_ms = delta(from.clock?.boot_ms, to.clock?.boot_ms)
  const slept = mono_ms === null || boot_ms === null ? null : Math.max(0, boot_ms - mono_ms)
  const suspended_ms = slept === null || slept >= JITTER_MS ? slept : 0
  return { wall_ms, mono_ms, boot_ms, suspended_ms, rebooted }
}

function delta(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : to - from
}

/** A clock that counts from the start of the machine runs backwards only over another start. */
function isReboot(from: ReadRecord, to: ReadRecord, wall: number | null): boolean {
  const [a, b] = [from.clock?.boot_ms ?? from.clock?.mono_ms, to.clock?.boot_ms ?? to.clock?.mono_ms]
  if (a === undefined || b === undefined) return false
  if (b < a) return true
  // One process does not survive a reboot; for another one it was rebooted if the machine is younger than the span.
  return from.writer !== to.writer && wall !== null && wall > 0 && b < wall
}

/** Something that the clocks of two neighbouring records show. */
export interface HostEvent {
  readonly kind: 'suspended' | 'rebooted' | 'clock_set'
  /** It happened between these two records. */
  readonly from_seq: number
  readonly to_seq: number
  readonly from_ts: string | null
  readonly to_ts: string | null
  /** How long it slept, or by how much the clock was set. */
  readonly ms: number | null
}

/** What the clocks of two neighbouring records show. */
export function hostEvents(from: ReadRecord, to: ReadRecord): HostEvent[] {
  const { suspended_ms, boot_ms, mono_ms, wall_ms, rebooted } = spanBetween(from, to)
  const place = { from_seq: from.seq, to_seq: to.seq, from_ts: from.ts ?? null, to_ts: to.ts ?? null }
  const events: HostEvent[] = []
  if (rebooted) events.push({ kind: 'rebooted', ...place, ms: null })
  if (suspended_ms !== null && suspended_ms >= SLEEP_MS)
    events.push({ kind: 'suspended', ...place, ms: suspended_ms })
  const passed = boot_ms ?? mono_ms
  if (passed === null || wall_ms === null || rebooted) return events
  const step = wall_ms - passed
  // Without a clock that counts sleep, sleep and a clock that was set forward look the same.
  if (boot_ms === null && step > 0) return events
  if (Math.abs(step) >= CLOCK_SET_MS) events.push({ kind: 'clock_set', ...place, ms: step })
  return events
}

const EVENTS_MAX = 1000

/** Watches neighbouring records up to the one that a message came with. */
export class HostTime {
  readonly #createdMs: number
  /** Those within the time that is asked about, by the wall clock. */
  readonly #within: HostEvent[] = []
  #unclocked = 0
  /** Those since the wall clock was last set back, which that clock would place before the time. */
  #sinceStep: HostEvent[] = []
  #before: ReadRecord | undefined
  #last: { readonly from: ReadRecord; readonly to: ReadRecord; readonly isClocked: boolean } | undefined

  /** When the message was created by the server's clock; NaN if the server sent no valid time. */
  constructor(createdMs: number) {
    this.#createdMs = createdMs
  }

  /** By how much a message arrived before it was created; 0 if the two clocks do not contradict each other. */
  get disagreementMs(): number {
    const to = this.#last?.to
    if (to === undefined) return 0
    const polledMs = timestampMs(to.ts) - (to.clock?.wait_ms ?? 0)
    return polledMs < this.#createdMs ? this.#createdMs - polledMs : 0
  }

  /** If the two clocks disagree: what happened since the wall clock was set back, or else right before. */
  get events(): readonly HostEvent[] {
    if (this.disagreementMs === 0) return this.#within
    if (this.#sinceStep.length > 0) return this.#sinceStep
    return this.#last === undefined ? [] : hostEvents(this.#last.from, this.#last.to)
  }

  /** Whether the wall clock was set back before. */
  get isSetBack(): boolean {
    return this.#sinceStep.length > 0
  }

  /** Records within the time that lack a clock. */
  get unclocked(): number {
    return this.disagreementMs === 0 ? this.#unclocked : this.#last?.isClocked === false ? 1 : 0
  }

  take(to: ReadRecord): void {
    const from = this.#before
    this.#before = to
    const isClocked = to.clock?.mono_ms !== undefined && to.clock.boot_ms !== undefined
    const isWithin = timestampMs(to.ts) > this.#createdMs
    if (isWithin && !isClocked) this.#unclocked += 1
    if (from === undefined) return
    this.#last = { from, to, isClocked }
    const events = hostEvents(from, to)
    if (events.length === 0) return
    if (isWithin && this.#within.length < EVENTS_MAX) this.#within.push(...events)
    const isStep = events.some(({ kind, ms }) => kind === 'clock_set' && (ms ?? 0) < 0)
    if (isStep) this.#sinceStep = events
    else if (this.#sinceStep.length > 0 && this.#sinceStep.length < EVENTS_MAX)
      this.#sinceStep.push(...events)
  }
}

/** A part of a run in which the wall clock was not set. */
interface RunPart {
  readonly from_seq: number
  readonly to_seq: number
  /** The earliest and the latest time that a record of it states, in milliseconds. */
  readonly low_ms: number
  readonly high_ms: number
}

/** One run of a producer. */
interface ProducerRun {
  readonly writer: string | null
  readonly from_seq: number
  readonly from_ts: string | null
  /** Its last record so far. */
  readonly to_seq: number
  readonly to_ts: string | null
  /** By how much the wall clock was set since the run before, as far as the other clocks tell; negative: back. */
  readonly set_ms: number
  /** From its first record on; a new part begins where the wall clock was set. */
  readonly parts: readonly RunPart[]
  /** Whether a note says that it stopped; otherwise it ended without a note, or goes on. */
  readonly stopped: boolean
  /** Whether it was a store command such as `journal repair`: all its records are there, and none is of a producer's start. */
  readonly isCommand: boolean
}

/** If the clock is set all the time there are no more parts than this: the last one then contains the rest. */
const PARTS_MAX = 1000

type Growing<T> = { -readonly [K in keyof T]: T[K] }

/** When a producer ran, as far as its notes and its records tell. */
export class ProducerRuns {
  /** Oldest first. */
  readonly all: Growing<ProducerRun & { parts: Growing<RunPart>[] }>[] = []
  #before: ReadRecord | undefined

  /** `isClockSet` is whether the wall clock was set since the record before. */
  take(record: ReadRecord, isClockSet = false): void {
    const { seq, ts = null, writer = null, action, payload } = record
    const before = this.#before
    this.#before = record
    const kind = action === 'journal_note' ? payload?.['kind'] : undefined
    let run = this.all.at(-1)
    if (run === undefined || run.writer !== writer || (kind === 'producer_started' && run.stopped)) {
      // What a store command appends between two runs is no run of a producer, but no producer ran at that time.
      const place = { from_seq: seq, from_ts: ts, to_seq: seq, to_ts: ts }
      const events = before === undefined ? [] : hostEvents(before, record)
      const set_ms = events.find(({ kind }) => kind === 'clock_set')?.ms ?? 0
      const isCommand = writer !== null && (before?.seq ?? 0) + 1 === seq
      run = { writer, ...place, set_ms, parts: [], stopped: false, isCommand }
      this.all.push(run)
    }
    run.to_seq = seq
    takePart(run.parts, seq, timestampMs(ts), isClockSet)
    run.to_ts = ts ?? run.to_ts
    if (kind === 'producer_started') run.isCommand = false
    if (kind === 'producer_stopped') run.stopped = true
  }

  /** The times between two runs, as far as they are between two times, by the clock as it went on after them. */
  gaps(
    sinceMs: number,
    untilMs: number,
  ): { readonly from: ProducerRun; readonly to: ProducerRun; readonly ms: number }[] {
    return this.all.flatMap((to, i) => {
      const from = this.all[i - 1]
      if (from === undefined) return []
      const [begin, end] = [timestampMs(from.to_ts) + to.set_ms, timestampMs(to.from_ts)]
      const ms = Math.min(end, untilMs) - Math.max(begin, sinceMs)
      return ms > 0 ? [{ from, to, ms }] : []
    })
  }
}

function takePart(parts: Growing<RunPart>[], seq: number, at: number, isClockSet: boolean): void {
  const part = parts.at(-1)
  if (part === undefined || (isClockSet && parts.length < PARTS_MAX)) {
    const [low_ms, high_ms] = Number.isNaN(at)
      ? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      : [at, at]
    parts.push({ from_seq: seq, to_seq: seq, low_ms, high_ms })
    return
  }
  part.to_seq = seq
  if (at < part.low_ms) part.low_ms = at
  if (at > part.high_ms) part.high_ms = at
}

/** Whether one of the holes is between two records: it is not known then what happened between them. */
export function liesWithin(holes: readonly SeqRange[], { from, to }: SeqRange): boolean {
  return holes.some(hole => hole.from > from && hole.to < to)
}
