import { isCount, isSeq, type JsonObject, limits } from '@kim/manifest'
import type { Draft } from './draft.js'
import type { WriterState } from './entity-reader.js'
import type { JournalState } from './journal-state.js'
import { owesAnnouncement, owesBaseline, parseMessageId, parsePersona } from './persona.js'

/** A live message by its number within its persona. */
interface Message {
  readonly id: number
  readonly item_id: string
  readonly read: boolean
}

/** Where the live messages of a persona are in the table, and how many of them are read. */
interface Inbox {
  readonly slots: number[]
  read: number
}

function inboxes({ entities, lines }: JournalState): Map<string, Inbox> {
  const byPersona = new Map<string, Inbox>()
  for (const slot of entities.slots('message')) {
    const parsed = parseMessageId(entities.idAt(slot))
    if (parsed === undefined) continue
    let inbox = byPersona.get(parsed.persona)
    if (inbox === undefined) {
      inbox = { slots: [], read: 0 }
      byPersona.set(parsed.persona, inbox)
    }
    inbox.slots.push(slot)
    if (lines.isRead(entities.imageAt(slot) as number)) inbox.read += 1
  }
  return byPersona
}

/** Numbered when its persona's turn comes: those of all of them at once would be the most the journal ever holds. */
function* numbered(
  { entities, lines }: JournalState,
  persona: string,
  slots: readonly number[],
): Generator<Message> {
  for (const slot of slots) {
    const image = entities.imageAt(slot)
    // A slot whose message was removed meanwhile may be another entity's.
    if (image === undefined || entities.typeAt(slot) !== 'message') continue
    const item_id = entities.idAt(slot)
    const parsed = parseMessageId(item_id)
    if (parsed?.persona === persona) yield { id: parsed.id, item_id, read: lines.isRead(image) }
  }
}

/** Above this id a persona's messages are still being fetched, so nothing may be taken away there. */
function pinOf(view: WriterState, persona: string): number {
  const payload = view.get('alert', `${persona}/bounded-window`)?.payload
  if (payload?.['status'] !== 'open') return Number.POSITIVE_INFINITY
  const at = payload['cursor_at']
  // An open pin without its place may be anywhere.
  return isCount(at) ? at : Number.NEGATIVE_INFINITY
}

/**
 * Above this id a persona's messages are still to be counted: a cap silences them and was not announced yet. Its
 * record keeps the `cursor` that the cap began at until then. If that is what silences, the walk of a first contact is
 * open, and all messages count.
 */
function capOf(view: WriterState, persona: string): number {
  const record = parsePersona(view.get('persona', persona)?.payload ?? {})
  if (!owesAnnouncement(record)) return Number.POSITIVE_INFINITY
  return owesBaseline(record) ? Number.NEGATIVE_INFINITY : record.cursor
}

/** The messages of one persona that may go, lowest id first. */
function retirable(view: WriterState, persona: string, messages: Message[], retainRead: number): Message[] {
  const read = messages.filter(message => message.read)
  if (read.length <= retainRead) return []
  const newest = messages.reduce((highest, { id }) => Math.max(highest, id), 0)
  const bound = Math.min(pinOf(view, persona), capOf(view, persona))
  read.sort((a, b) => a.id - b.id)
  return read.slice(0, read.length - retainRead).filter(({ id }) => id !== newest && id <= bound)
}

function retire(persona: string, image: JsonObject, messages: readonly Message[]): Draft[] {
  const highest = messages.at(-1)?.id ?? 0
  const known = image['known_from']
  const known_from = Math.max(highest + 1, isSeq(known) ? known : 0)
  const update: Draft = {
    agent: persona,
    action: 'update',
    item_type: 'persona',
    item_id: persona,
    summary: `messages below ${known_from} that were read left the state; the journal keeps them`,
    payload: { ...image, known_from },
  }
  const deletes = messages.map(
    ({ item_id }): Draft => ({
      agent: persona,
      action: 'delete',
      item_type: 'message',
      item_id,
      summary: 'archived',
    }),
  )
  return [update, ...deletes]
}

/**
 * What retention appends before a roll, as commits: read messages beyond the newest `retainRead` of a persona,
 * lowest id first. It never takes the newest message of a persona, an unread one, or one above an open pin or a cap that
 * is not announced yet. The record of the persona before the deletes says from which id on its messages are known. A
 * persona without a record is still on its first contact, which would bring its messages back.
 */
export function* retentionCommits(
  state: JournalState,
  view: WriterState,
  retainRead: number,
): Generator<Draft[]> {
  let commit: Draft[] = []
  for (const [persona, { slots, read }] of inboxes(state)) {
    if (read <= retainRead) continue
    let rest = retirable(view, persona, [...numbered(state, persona, slots)], retainRead)
    while (rest.length > 0) {
      const image = view.get('persona', persona)?.payload
      if (image === undefined) break
      const room = limits.commitRecordsMax - commit.length - 1
      if (room < 1) {
        yield commit
        commit = []
        continue
      }
      commit.push(...retire(persona, image, rest.slice(0, room)))
      rest = rest.slice(room)
      if (rest.length > 0) {
        yield commit
        commit = []
      }
    }
  }
  if (commit.length > 0) yield commit
}
