import { hash } from 'node:crypto'
import type { ReadRecord } from './record.js'

/**
 * The id under which an announcement is known outside the journal: the same after restarts, for every reader
 * and in every sink. A message is known by its persona and number, anything else by its place in the journal.
 */
export function eventIdOf(
  projectId: string,
  record: Pick<ReadRecord, 'agent' | 'event' | 'item_id' | 'seq' | 'writer'>,
): string {
  const persona = record.agent || '_'
  if (record.event === 'new') {
    const id = record.item_id ?? '_'
    const prefix = `${persona}/`
    return `${persona}:new:${id.startsWith(prefix) ? id.slice(prefix.length) : id}`
  }
  const run = hash('sha256', `${projectId}\n${record.writer ?? ''}`).slice(0, 16)
  return `${persona}:${record.event ?? '_'}:${run}-${record.seq}`
}

const digits = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const base = BigInt(digits.length)
/** Ten digits carry fewer than 64 bits. */
const nonceLength = 11

/** Eleven base-62 digits, least significant first, of the SHA-256 of an event id. */
export function nonceOf(eventId: string): string {
  let number = BigInt(`0x${hash('sha256', eventId)}`)
  let nonce = ''
  for (let i = 0; i < nonceLength; i++) {
    nonce += digits[Number(number % base)]
    number /= base
  }
  return nonce
}
