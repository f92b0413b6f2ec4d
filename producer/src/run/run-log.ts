import type { LogEntry } from '../journal/store.js'

/** A line of the service's log: what the journal can say, the end of the process, and what it is about. */
export interface RunEntry extends Omit<LogEntry, 'level'> {
  readonly level: LogEntry['level'] | 'fatal'
  readonly persona?: string | undefined
  readonly fields?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Where the service says what an operator should know. */
export type RunLog = (entry: RunEntry) => void

/** What the journal says each time it meets a full disk again. */
const ECHOES = new Set(['meta_not_written', 'checkpoint_put_off', 'opened_full'])

/** What each file in one directory says of it. */
const SHARED = new Set(['unsafe_directory'])

/** A log in which a lasting condition is said once, not by everything that meets it. */
export function withoutEchoes(log: RunLog): RunLog {
  const said = new Set<string>()
  return entry => {
    if (entry.code === 'disk_free') said.clear()
    const { code, message } = entry
    const what = ECHOES.has(code) ? code : SHARED.has(code) ? message : undefined
    if (what !== undefined) {
      if (said.has(what)) return
      said.add(what)
    }
    log(entry)
  }
}
