import type { Message } from '@kim/example-kijito-sim'
import type { ReadRecord } from '@kim/manifest'
import { wrongWith } from './records.js'

/** The messages of every inbox as the server has them. */
export type Inboxes = ReadonlyMap<string, readonly Message[]>

/** How many objections are told; after that more of them say nothing new. */
const TOLD = 20

/** From which id on the journal owes every message of a persona: what first contact saw, or all of it. */
function floorOf(records: readonly ReadRecord[], persona: string): number | undefined {
  const met = records.find(record => record.item_type === 'persona' && record.item_id === persona)
  const floor = met?.payload?.['floor']
  return typeof floor === 'number' ? floor : undefined
}

/**
 * What is wrong with a journal whose server has these inboxes: a message that is missing, there twice, of nobody, or
 * another than was sent; a persona's ids that do not ascend although no pin of it is open; a read state that was
 * touched. An empty list if nothing is.
 */
export function objectionsTo(records: readonly ReadRecord[], inboxes: Inboxes): string[] {
  const objections = wrongWith(records)
  const highest = new Map<string, number>()
  const pinned = new Set<string>()
  const stands = new Set<string>()
  const sent = new Map<string, Message>()
  for (const [persona, messages] of inboxes) {
    for (const message of messages) sent.set(`${persona}/${message.id}`, message)
  }
  for (const record of records) {
    const { agent = '', item_type, item_id = '', action, payload } = record
    if (item_type === 'alert' && payload?.['kind'] === 'bounded-window') {
      if (payload['status'] === 'open') pinned.add(agent)
      else pinned.delete(agent)
    }
    if (item_type !== 'message' || (action !== 'create' && action !== 'backfill')) continue
    const id = Number(payload?.['id'])
    const before = highest.get(agent) ?? 0
    if (id <= before && !pinned.has(agent))
      objections.push(`${item_id} stands after ${before}, and no pin is open`)
    highest.set(agent, Math.max(before, id))
    stands.add(item_id)
    const message = sent.get(item_id)
    if (message === undefined) objections.push(`${item_id} was never sent`)
    else if (message.content !== payload?.['content'] || message.from !== payload['from']) {
      objections.push(`${item_id} is not what was sent`)
    }
  }
  for (const [persona, messages] of inboxes) {
    const floor = floorOf(records, persona)
    if (floor === undefined) objections.push(`${JSON.stringify(persona)} was never met`)
    for (const { id, read } of messages) {
      if (id >= (floor ?? 0) && !stands.has(`${persona}/${id}`))
        objections.push(`${persona}/${id} is missing`)
      if (read) objections.push(`${persona}/${id} was marked as read`)
    }
  }
  return objections.length > TOLD
    ? [...objections.slice(0, TOLD), `and ${objections.length - TOLD} more`]
    : objections
}
