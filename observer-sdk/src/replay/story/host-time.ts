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
export const SLEEP_MS = 1000
const CLOCK_SET_MS = 2000
const EVENTS_MAX = 1000

/** Watches neighbouring records from a time on until it is told to stop. */
export class HostTime {
  readonly events: HostEvent[] = []
  readonly #sinceMs: number
  #before: ReadRecord | undefined
  #unclocked = 0
  #isOver = false

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs
  }

  /** Records in the window that carry no clocks. */
  get unclocked(): number {
    return this.#unclocked
  }

  take(record: ReadRecord): void {
    if (this.#isOver) return
    const isWithin = wallOf(record) > this.#sinceMs
    if (isWithin && record.clock?.mono_ms === undefined) this.#unclocked += 1
    if (isWithin && this.#before !== undefined) this.#compare(this.#before, record)
    this.#before = record
  }

  stop(): void {
    this.#isOver = true
  }

  #compare(from: ReadRecord, to: ReadRecord): void {
    const { suspended_ms, boot_ms, mono_ms, wall_ms, rebooted } = spanBetween(from, to)
    if (rebooted) this.#add('rebooted', from, to, null)
    if (suspended_ms !== null && suspended_ms >= SLEEP_MS) this.#add('suspended', from, to, suspended_ms)
    const passed = boot_ms ?? mono_ms
    if (passed === null || wall_ms === null || rebooted) return
    const step = wall_ms - passed
    if (Math.abs(step) >= CLOCK_SET_MS) this.#add('clock_set', from, to, step)
  }

  #add(kind: HostEvent['kind'], from: ReadRecord, to: ReadRecord, ms: number | null): void {
    if (this.events.length >= EVENTS_MAX) return
    const [from_ts, to_ts] = [from.ts ?? null, to.ts ?? null]
    this.events.push({ kind, from_seq: from.seq, to_seq: to.seq, from_ts, to_ts, ms })
  }
}
