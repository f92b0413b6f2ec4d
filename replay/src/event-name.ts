import type { ReadRecord } from '@kim/manifest'

/** How a person names one record. */
export type EventName =
  | { readonly kind: 'seq'; readonly seq: number; readonly text: string }
  /** `river:new:246`: one message. */
  | { readonly kind: 'message'; readonly persona: string; readonly id: number; readonly text: string }
  /** `river:alert:9f3c…-18342`: any other event; its seq stands in it. */
  | { readonly kind: 'event'; readonly persona: string; readonly seq: number; readonly text: string }

/** Reads a seq, an event id or a message's item id. A persona may hold any character, so an id is read from its end. */
export function parseEventName(text: string): EventName | undefined {
  if (/^\d+$/.test(text)) return isNumber(Number(text)) ? { kind: 'seq', seq: Number(text), text } : undefined
  const message = /^(.+)(?::new:|\/)(-?\d+)$/su.exec(text)
  if (message !== null) {
    const id = Number(message[2])
    return Number.isSafeInteger(id) ? { kind: 'message', persona: message[1] ?? '', id, text } : undefined
  }
  const event = /^(.+):[^:]+:[0-9a-f]{16}-(\d+)$/su.exec(text)
  const seq = Number(event?.[2])
  return isNumber(seq) ? { kind: 'event', persona: event?.[1] ?? '', seq, text } : undefined
}

function isNumber(seq: number): boolean {
  return Number.isSafeInteger(seq) && seq > 0
}

/** Of the messages of the persona that a name speaks of, the number that is closest to it so far. */
export function nearer(
  name: EventName,
  { item_type, item_id = '' }: ReadRecord,
  best: number | undefined,
): number | undefined {
  if (name.kind !== 'message' || item_type !== 'message') return best
  const prefix = `${name.persona}/`
  const id = item_id.startsWith(prefix) ? Number(item_id.slice(prefix.length)) : Number.NaN
  if (!Number.isSafeInteger(id) || id === name.id) return best
  return best === undefined || Math.abs(id - name.id) < Math.abs(best - name.id) ? id : best
}
