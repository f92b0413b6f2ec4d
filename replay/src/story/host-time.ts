/** What happened to the host, and to its clock, while a message was on its way. */
import type { ReadRecord } from '@kim/manifest'
import { spanBetween, wallOf } from './clocks.js'

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

/** Less than this is not called sleep: a busy host shows as much. */
const SLEEP_MS = 1000
/** Less than this is how a clock is kept right, not set. */
const CLOCK_SET_MS = 2000
const EVENTS_MAX = 1000

/** What two neighbouring records show. */
interface Pair {
  readonly from: ReadRecord
  readonly to: ReadRecord
  readonly isClocked: boolean
}

/** Watches neighbouring records up to the one that a message came with. */
export class HostTime {
  readonly #createdMs: number
  /** Those that by the wall clock's word are within the time that is asked about. */
  readonly #within: HostEvent[] = []
  #unclocked = 0
  /** Those since the wall clock was last set back: a time that it would not say is before. */
  #sinceStep: HostEvent[] = []
  #before: ReadRecord | undefined
  #last: Pair | undefined

  /** By the server's clock; NaN if it gave no time. */
  constructor(createdMs: number) {
    this.#createdMs = createdMs
  }

  /** By how much a message was here before it was made; 0 if the two clocks agree as far as can be told. */
  get disagreementMs(): number {
    const to = this.#last?.to
    if (to === undefined) return 0
    const polledMs = wallOf(to) - (to.clock?.wait_ms ?? 0)
    return polledMs < this.#createdMs ? this.#createdMs - polledMs : 0
  }

  /** Where the two clocks disagree, what was seen since the wall clock was set back, or else right before. */
  get events(): readonly HostEvent[] {
    if (this.disagreementMs === 0) return this.#within
    if (this.#sinceStep.length > 0) return this.#sinceStep
    return this.#last === undefined ? [] : hostEvents(this.#last)
  }

  /** Whether the wall clock was seen to be set back before. */
  get isSetBack(): boolean {
    return this.#sinceStep.length > 0
  }

  /** Records in the window that lack a clock. */
  get unclocked(): number {
    return this.disagreementMs === 0 ? this.#unclocked : this.#last?.isClocked === false ? 1 : 0
  }

  take(record: ReadRecord): void {
    const from = this.#before
    this.#before = record
    const isClocked = record.clock?.mono_ms !== undefined && record.clock.boot_ms !== undefined
    const isWithin = wallOf(record) > this.#createdMs
    if (isWithin && !isClocked) this.#unclocked += 1
    if (from === undefined) return
    this.#last = { from, to: record, isClocked }
    const events = hostEvents(this.#last)
    if (events.length === 0) return
    if (isWithin && this.#within.length < EVENTS_MAX) this.#within.push(...events)
    const isStep = events.some(({ kind, ms }) => kind === 'clock_set' && (ms ?? 0) < 0)
    if (isStep) this.#sinceStep = events
    else if (this.#sinceStep.length > 0 && this.#sinceStep.length < EVENTS_MAX)
      this.#sinceStep.push(...events)
  }
}

/** What the clocks of two neighbouring records show. */
export function hostEvents({ from, to }: Pick<Pair, 'from' | 'to'>): HostEvent[] {
  const { suspended_ms, boot_ms, mono_ms, wall_ms, rebooted } = spanBetween(from, to)
  const place = { from_seq: from.seq, to_seq: to.seq, from_ts: from.ts ?? null, to_ts: to.ts ?? null }
  const events: HostEvent[] = []
  if (rebooted) events.push({ kind: 'rebooted', ...place, ms: null })
  if (suspended_ms !== null && suspended_ms >= SLEEP_MS)
    events.push({ kind: 'suspended', ...place, ms: suspended_ms })
  const passed = boot_ms ?? mono_ms
  if (passed === null || wall_ms === null || rebooted) return events
  const step = wall_ms - passed
  // Sleep and a clock that was set forward look alike to who has no clock that counts sleep.
  if (boot_ms === null && step > 0) return events
  if (Math.abs(step) >= CLOCK_SET_MS) events.push({ kind: 'clock_set', ...place, ms: step })
  return events
}
