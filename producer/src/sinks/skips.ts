import { deliveryTriesOf } from '@kim/manifest'
import type { MonitorEvent } from '@kim/observer-sdk'
import type { Clock } from '../effects/clock.js'
import type { SinkLog } from './log.js'

/** An event that a sink gave up. */
export interface Skipped {
  readonly event: MonitorEvent
  readonly lane: string
  readonly tries: number
  /** What the sink said at the last try. */
  readonly why: string
}

/** A kind of event that is skipped again and again gets a line as often as this at most. */
const SAID_MS = 3_600_000

/** Logs what a sink skips after its last try: mail each time, anything else once an hour (KS-87). */
export class Skips {
  readonly #sink: string
  readonly #clock: Clock
  readonly #log: SinkLog
  readonly #kinds: Map<string, { count: number; saidMs: number }> = new Map()

  constructor(sink: string, clock: Clock, log: SinkLog) {
    this.#sink = sink
    this.#clock = clock
    this.#log = log
  }

  add({ event, lane, tries, why }: Skipped): void {
    const { event: kind, event_id } = event
    const isMail = deliveryTriesOf(kind) === Number.POSITIVE_INFINITY
    const nowMs = this.#clock.monoMs()
    const { count, saidMs } = this.#kinds.get(kind) ?? { count: 0, saidMs: Number.NEGATIVE_INFINITY }
    const skipped = count + 1
    const isSaid = isMail || nowMs - saidMs >= SAID_MS
    this.#kinds.set(kind, { count: skipped, saidMs: isSaid ? nowMs : saidMs })
    if (!isSaid) return
    const sink = this.#sink
    this.#log({
      level: isMail ? 'error' : 'warn',
      code: 'sink_skipped',
      message: `${sink}: ${why}; ${kind} is skipped after ${tries === 1 ? 'one try' : `${tries} tries`}`,
      hint: isMail
        ? 'the journal has the message; correct the command, or use a larger --max-attempts'
        : 'mail goes on; a command that does not handle a kind of event must exit 0 for it',
      ...(lane === '' ? {} : { persona: lane }),
      fields: { sink, event: kind, event_id, tries, skipped },
    })
  }
}
