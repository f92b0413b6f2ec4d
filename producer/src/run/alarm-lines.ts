import type { Draft } from '../journal/draft.js'
import type { RunEntry } from './run-log.js'

/** The lines for the log about conditions that began or ended with these drafts: whoever looks there first sees them. */
export function alarmLines(drafts: readonly Draft[]): RunEntry[] {
  return drafts.flatMap((draft): RunEntry[] => {
    if (draft.item_type !== 'alert') return []
    const { agent: persona, summary: message, event, payload } = draft
    if (payload?.['status'] === 'cleared') return [{ level: 'info', code: 'alert_ended', persona, message }]
    // An open one that goes on is no news.
    return event === 'alert' ? [{ level: 'warn', code: 'alert', persona, message }] : []
  })
}
