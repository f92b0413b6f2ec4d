import type { MonitorEvent } from '@kim/observer-sdk'
import type { FileNames } from './file-names.js'

/** How a delivery went. */
export interface Delivery {
  /** So many events, from the first on, are where they belong, durably. */
  readonly taken: number
  /** Why the next one is not; undefined if it may be handed over once these are noted. None taken: the end came first. */
  readonly failure?: string | undefined
}

/** Where events go. It never throws: what stands in its way is a failure of that delivery. */
export interface Sink {
  /** Names it in the log. */
  readonly name: string
  /** So many events are handed to it at a time; what it took of them is made durable after each time. */
  readonly batchMax: number
  /**
   * True where a failed delivery is a judgement on that event, which is skipped after its tries (KS-72). A file that
   * takes nothing judges no event: it would take no later one either.
   */
  readonly judgesEvents: boolean
  /**
   * Events of one lane wait for each other, and those of two never do: what is in the way of one file is not in the
   * way of another. A sink with a single place has a single lane, ''.
   */
  laneOf(persona: string): string
  deliver(lane: string, events: readonly MonitorEvent[], signal: AbortSignal): Promise<Delivery>
  /** Names of files that were given out and must stay as they are. */
  readonly names: FileNames | undefined
  close(): void
}
