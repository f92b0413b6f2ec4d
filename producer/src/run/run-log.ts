import type { LogEntry } from '../journal/log.js'

/** A line of the service's log: what the journal can say, the end of the process, and what it is about. */
export interface RunEntry extends Omit<LogEntry, 'level'> {
  readonly level: LogEntry['level'] | 'fatal'
  readonly persona?: string | undefined
  readonly fields?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Where the service says what an operator should know. */
export type RunLog = (entry: RunEntry) => void
