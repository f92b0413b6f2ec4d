import { isMail, memoryCursors, openTail, safeText } from '@kim/observer-sdk'

/** Shows each new message of one persona, until the signal ends it. */
export async function followMail(
  eventsDir: string,
  persona: string,
  show: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const tail = await openTail({ eventsDir, cursors: memoryCursors(), signal })
  for await (const { news } of tail.changes()) {
    for (const record of news.filter(isMail)) {
      const message = tail.payloadOf(record)
      if (message?.['persona'] !== persona) continue
      show(safeText(`${message['from']}: ${message['content'] ?? '(no text)'}`))
    }
  }
}
