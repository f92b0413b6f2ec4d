import type { LogEntry } from '../journal/log.js'

/** A line about a sink: what the journal can say, and whose events it is about. */
export interface SinkEntry extends LogEntry {
  readonly persona?: string | undefined
  readonly fields?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Where sinks say that something is in their way, once when it begins and once when it ends. */
export type SinkLog = (entry: SinkEntry) => void
