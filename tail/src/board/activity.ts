import { alertFacts } from '@kim/manifest'
import { type BoardEntity, countMember, textMember } from './entity.js'

/** What can be said about whether somebody has written. */
export interface Activity {
  readonly answer: 'yes' | 'no' | 'unknown'
  /** The highest id of a message by that author that stands. */
  readonly lastId: number | undefined
  /** Below it not every message can be known. */
  readonly floor: number | undefined
  readonly why: string
}

/**
 * Has this author written a message with an id above `sinceId`? Only messages that stand are evidence: read marks and
 * presence can be caused by others. A "no" takes that every id above `sinceId` would be known.
 */
export function judgeActivity(author: string, sinceId: number, entities: Iterable<BoardEntity>): Activity {
  let lastId: number | undefined
  let floor: number | undefined
  let pin: number | undefined
  let unfinished: string | undefined
  let unread: string | undefined
  let left: string | undefined
  const inboxes = new Set<string>()
  const settled = new Set<string>()
  for (const { itemId, itemType, payload } of entities) {
    const inbox = textMember(payload, 'persona') ?? itemId
    if (itemType === 'message') {
      inboxes.add(inbox)
      const id = countMember(payload, 'id')
      if (textMember(payload, 'from') === undefined && !(idIn(itemId) <= sinceId)) unread = itemId
      if (id !== undefined && textMember(payload, 'from') === author) lastId = Math.max(lastId ?? 0, id)
    } else if (itemType === 'persona') {
      inboxes.add(inbox)
      if (payload?.['watched'] === false) left = inbox
      const own = floorOf(payload)
      if (own === undefined) unfinished = inbox
      else {
        settled.add(inbox)
        floor = Math.max(floor ?? 0, own)
      }
    } else if (itemType === 'alert' && payload === undefined) {
      unread = itemId
    } else if (isPin(itemType, payload)) {
      pin = Math.min(pin ?? Number.POSITIVE_INFINITY, countMember(payload, 'cursor_at') ?? 0)
    }
  }
  unfinished ??= [...inboxes].find(inbox => !settled.has(inbox))
  const tell = (answer: Activity['answer'], why: string): Activity => ({ answer, lastId, floor, why })
  if (lastId !== undefined && lastId > sinceId) return tell('yes', `message ${lastId} is in the journal`)
  if (floor === undefined) return tell('unknown', 'the journal has no inbox yet')
  if (unfinished !== undefined) return tell('unknown', 'the first poll of an inbox is not finished')
  if (sinceId < floor) return tell('unknown', `not all messages with an id below ${floor} are known`)
  // Whatever `sinceId` is, the question reaches beyond the pin.
  if (pin !== undefined) return tell('unknown', `not all messages with an id above ${pin} are known yet`)
  if (unread !== undefined) return tell('unknown', `the payload of ${unread} cannot be read`)
  const known = left === undefined ? '' : ` in the watched inboxes (${left} is not watched any more)`
  return tell('no', `no message has an id above ${sinceId}; every id from ${floor} on is known${known}`)
}

/** The number in a message's name; not a number where it has none. */
function idIn(itemId: string): number {
  return Number(/\/(\d+)$/.exec(itemId)?.[1])
}

/** The lowest id from which on an inbox is wholly known. */
function floorOf(payload: BoardEntity['payload']): number | undefined {
  const floor = countMember(payload, 'floor')
  return floor === undefined ? undefined : Math.max(floor, countMember(payload, 'known_from') ?? 0)
}

function isPin(itemType: string, payload: BoardEntity['payload']): boolean {
  return itemType === 'alert' && alertFacts(payload).is_gap === true && payload?.['status'] === 'open'
}
