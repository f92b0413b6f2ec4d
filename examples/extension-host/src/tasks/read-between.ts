import type { ReadRecord } from '@kim/observer-sdk'
import { openHistory } from '@kim/observer-sdk/history'

/** The records between two times, in file order. A clock that was set back is why all of them are looked at. */
export function* recordsBetween(eventsDir: string, from: Date, to: Date): Generator<ReadRecord> {
  for (const { record } of openHistory(eventsDir)?.forwards() ?? []) {
    const written = Date.parse(record.ts ?? '')
    if (written >= from.getTime() && written < to.getTime()) yield record
  }
}
