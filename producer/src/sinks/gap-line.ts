import type { Change } from '@kim/observer-sdk'
import type { LogEntry } from '../journal/log.js'

/** What is said of a gap: of records that are gone, or of a journal that is not the one that was followed. */
export function gapLine({ from, to, reason }: NonNullable<Change['gap']>): LogEntry {
  if (reason === 'rewound') {
    const message = `the journal was replaced or restored to an earlier state: events from record ${from} on are delivered, some perhaps again`
    return { level: 'warn', code: 'sink_rewound', message }
  }
  const message = `records ${from} to ${to} are missing (${reason}) and were not delivered`
  return { level: 'warn', code: 'sink_gap', message }
}
