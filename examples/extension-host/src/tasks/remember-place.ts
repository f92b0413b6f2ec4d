import { type MementoLike, mementoCursors, openTail, type ReadRecord } from '@kim/observer-sdk'

/** Handles each announced record, also across restarts: the editor's storage keeps the place. */
export async function handleEach(
  eventsDir: string,
  storage: MementoLike,
  handle: (record: ReadRecord) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const tail = await openTail({ eventsDir, cursors: mementoCursors(storage), from: 'start', signal })
  try {
    // The place is saved when the next change is asked for. If `handle` throws, the same records come again.
    for await (const { news } of tail.changes()) for (const record of news) await handle(record)
  } finally {
    await tail.close()
  }
}
