/** How a person or an agent names one record. */
export type EventRef =
  | { readonly kind: 'seq'; readonly seq: number }
  /** `river:new:246`: the announcement of one message. */
  | { readonly kind: 'message'; readonly persona: string; readonly id: number; readonly text: string }
  /** `river:alert:9f3c…-18342`: any other event; the seq stands in it. */
  | { readonly kind: 'event'; readonly seq: number; readonly text: string }

/**
 * Reads a seq or an event id. A persona may hold colons, so an id is read from its end.
 */
export function parseEventRef(text: string): EventRef | undefined {
  if (/^\d+$/.test(text)) return seqRef(Number(text))
  const message = /^(.+):new:(-?\d+)$/su.exec(text)
  if (message !== null) {
    const id = Number(message[2])
    return Number.isSafeInteger(id) ? { kind: 'message', persona: message[1] ?? '', id, text } : undefined
  }
  const event = /^.+:[^:]+:[0-9a-f]{16}-(\d+)$/su.exec(text)
  const seq = Number(event?.[1])
  return Number.isSafeInteger(seq) && seq > 0 ? { kind: 'event', seq, text } : undefined
}

function seqRef(seq: number): EventRef | undefined {
  return Number.isSafeInteger(seq) && seq > 0 ? { kind: 'seq', seq } : undefined
}
