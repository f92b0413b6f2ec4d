import type { Change } from '@kim/observer-sdk'
import type { LogEntry } from '../journal/log.js'

/** What is said of a gap: of records that are gone, or of a journal that is not the one that was followed. */
export function gapLine({ from, to, reason }: NonNullable<Change['gap']>): LogEntry {
  if (reason === 'rewound') {
    const message = `the journal was put back to an earlier state, or another one in its place: it is told from record ${from} on, perhaps once more`
    return { level: 'warn', code: 'sink_rewound', message }
  }
  const message = `records ${from} to ${to} are gone (${reason}) and were not delivered`
  return { level: 'warn', code: 'sink_gap', message }
}
