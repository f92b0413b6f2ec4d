import type { CommandRefusal, MonitorEvent } from '@kim/monitor'
import type { ServiceLogEntry } from '../journal/store.js'

/** The result of a delivery. */
export interface Delivery {
  /** The number of events, from the first on, that are delivered durably. */
  readonly taken: number
  /** Why the next one failed. Undefined if nothing failed: then the rest may follow, or the end interrupted the delivery. */
  readonly failure?: string | undefined
  /** The event among those taken that was not delivered, because its last try failed (KS-72). */
  readonly skipped?:
    | { readonly event: MonitorEvent; readonly tries: number; readonly why: string }
    | undefined
}

/** A destination of events. It never throws: an error is the `failure` of a delivery. */
export interface Sink {
  /** Its name in the log. */
  readonly name: string
  /** The most events per delivery. The watermark is stored after each one. */
  readonly batchMax: number
  /** If true, the journal is read on while lanes deliver. Otherwise reading waits for the lanes that are not held. */
  readonly areLanesSlow?: boolean
  /** Events that it skipped after their last try, by wake class (KS-72). */
  readonly skipped?: Readonly<Record<string, number>>
  /**
   * Events of one lane are delivered in order. Lanes do not wait for each other: an obstacle to one file does not delay
   * another. A sink without lanes has the single lane ''.
   */
  laneOf(persona: string): string
  /** `onRefused` hears of a failed try that the sink itself repeats. The caller repeats what `failure` reports. */
  deliver(
    lane: string,
    events: readonly MonitorEvent[],
    signal: AbortSignal,
    onRefused?: (refusal: CommandRefusal) => void,
  ): Promise<Delivery>
  /** File names by persona, which must stay as they are. */
  readonly givenNames?: readonly (readonly [persona: string, name: string])[] | undefined
  close?(): void
}

/** The log of the sinks. A lasting problem gets one line when it begins and one when it ends. */
export type SinkLog = (entry: ServiceLogEntry) => void

/** A held lane; a type and no interface, so that it counts as JSON. */
export type HeldLane = {
  /** '' for a sink without lanes. */
  readonly lane: string
  /** The last record that it delivered. */
  readonly seq: number
  /** Why it is held; null while it catches up. */
  readonly why: string | null
  readonly tries: number
  /** For how long it has been refusing; 0 while it catches up. */
  readonly for_ms: number
}

/** The state of one sink, for `status`, health and metrics. */
export type SinkStatus = {
  /** The kind of sink. */
  readonly sink: string
  /** The sink among those of its kind. */
  readonly identity: string
  /** `off`: its watermark cannot be read, so it delivers nothing. */
  readonly state: 'working' | 'held' | 'off'
  /** Why it is off, or a problem apart from its lanes: the watermark cannot be stored, or the journal not be read. */
  readonly why: string | null
  /** All lanes that are not held have delivered everything up to this record; null if unknown. */
  readonly seq: number | null
  /** The number of durable records that the slowest lane has not delivered. */
  readonly behind: number | null
  /** For how long the oldest undelivered event has waited. */
  readonly lag_ms: number
  /** Runs of records that were lost before their delivery, by reason. */
  readonly gaps: Readonly<Record<string, number>>
  /** Events that were skipped after their last try since this process started, by wake class (KS-72). */
  readonly skipped: Readonly<Record<string, number>>
  /** The number of held lanes. */
  readonly held: number
  /** The held lanes that are furthest behind. */
  readonly lanes: readonly HeldLane[]
}

/** The kind of a sink, by the identity of its watermark. */
export function sinkKind(identity: string): string {
  if (!identity.startsWith('file:')) return identity
  return identity.includes('{persona}') ? 'events-file-template' : 'events-file'
}
