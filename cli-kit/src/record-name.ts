import { safeText } from '@kim/manifest'
import { usageError } from './parse.js'

/** How a person or an agent names one record on a command line. */
export type RecordName =
  | { readonly kind: 'seq'; readonly seq: number; readonly text: string }
  /** `river:new:246` or `river/246`: one message. */
  | { readonly kind: 'message'; readonly persona: string; readonly id: number; readonly text: string }
  /** `river:alert:9f3c…-18342`: any other event, which contains its seq. */
  | { readonly kind: 'event'; readonly persona: string; readonly seq: number; readonly text: string }

/** Parses a seq, an event id or a message's item id. A persona may contain any character, so an id is parsed from its end. */
export function parseRecordName(text: string): RecordName | undefined {
  if (/^\d+$/.test(text)) return isSeq(Number(text)) ? { kind: 'seq', seq: Number(text), text } : undefined
  const message = /^(.+)(?::new:|\/)(-?\d+)$/su.exec(text)
  if (message !== null) {
    const id = Number(message[2])
    return Number.isSafeInteger(id) ? { kind: 'message', persona: message[1] ?? '', id, text } : undefined
  }
  const event = /^(.+):[^:]+:[0-9a-f]{16}-(\d+)$/su.exec(text)
  const seq = Number(event?.[2])
  return isSeq(seq) ? { kind: 'event', persona: event?.[1] ?? '', seq, text } : undefined
}

/** The same; a text that names no record is refused. */
export function requireRecordName(text: string): RecordName {
  const name = parseRecordName(text)
  if (name !== undefined) return name
  throw usageError(
    `"${safeText(text)}" is neither a seq nor an event id`,
    'use one such as 18342, river:new:246, river/246, or river:alert:<16 hex>-<seq>',
  )
}

function isSeq(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0
}
