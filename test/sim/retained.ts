import type { Image } from './images.js'

/** A live message as retention sees it. */
interface Message {
  readonly id: number
  readonly image: Image
}

function messagesOf(live: ReadonlyMap<string, Image>, persona: string): Message[] {
  const out: Message[] = []
  for (const image of live.values()) {
    if (image.type !== 'message') continue
    const cut = image.id.lastIndexOf('/')
    if (image.id.slice(0, cut) === persona) out.push({ id: Number(image.id.slice(cut + 1)), image })
  }
  return out.sort((a, b) => a.id - b.id)
}

/**
 * The messages that retention takes before a roll, by the words of the design and nothing else: read ones beyond
 * the newest `retainRead` of their persona, never its newest message, an unread one, or one above an open pin.
 */
export function retirable(live: ReadonlyMap<string, Image>, persona: string, retainRead: number): number[] {
  if (!live.has(`persona ${persona}`)) return []
  const messages = messagesOf(live, persona)
  const pin = live.get(`alert ${persona}/bounded-window`)?.payload
  const ceiling = pin?.['status'] === 'open' ? Number(pin['cursor_at']) : Number.POSITIVE_INFINITY
  const read = messages.filter(({ image }) => image.inline && image.payload['read'] === true)
  const beyond = read.slice(0, Math.max(0, read.length - retainRead))
  return beyond.map(({ id }) => id).filter(id => id !== messages.at(-1)?.id && id <= ceiling)
}
