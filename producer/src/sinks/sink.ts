import type { CommandRefusal, MonitorEvent } from '@kim/observer-sdk'
import type { FileNames } from './file-names.js'

/** How a delivery went. */
export interface Delivery {
  /** So many events, from the first on, are where they belong, durably. */
  readonly taken: number
  /** Why the next one is not; undefined if it may be handed over once these are noted. None taken: the end came first. */
  readonly failure?: string | undefined
  /** The event among those taken that was not delivered, because its last try failed (KS-72). */
  readonly skipped?:
    | { readonly event: MonitorEvent; readonly tries: number; readonly why: string }
    | undefined
}

/** Where events go. It never throws: what stands in its way is a failure of that delivery. */
export interface Sink {
  /** Names it in the log. */
  readonly name: string
  /** So many events are handed to it at a time; what it took of them is made durable after each time. */
  readonly batchMax: number
  /** True where lanes may take long: the journal is read on while they work. Else it waits for those that are not held. */
  readonly areLanesSlow: boolean
  /** Events that it skipped after their last try, by wake class (KS-72). */
  readonly skipped: Readonly<Record<string, number>>
  /**
   * Events of one lane wait for each other, and those of two never do: what is in the way of one file is not in the
   * way of another. A sink with a single place has a single lane, ''.
   */
  laneOf(persona: string): string
  /** `onRefused` hears of a failed try that the sink itself repeats; what `failure` reports is for the caller to repeat. */
  deliver(
    lane: string,
    events: readonly MonitorEvent[],
    signal: AbortSignal,
    onRefused?: (refusal: CommandRefusal) => void,
  ): Promise<Delivery>
  /** Names of files that were given out and must stay as they are. */
  readonly names: FileNames | undefined
  close(): void
}
