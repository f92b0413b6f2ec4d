/** One thing an operator should know. */
export interface LogEntry {
  readonly level: 'info' | 'warn' | 'error'
  /** Stable, for machines. */
  readonly code: string
  readonly message: string
  readonly hint?: string
}

/** Where the journal says what it noticed. It is never how it says that it failed. */
export type Log = (entry: LogEntry) => void
