/** `kim-tail activity`: has an author written since a message id? */
import { type Input, type Io, locateStore, printReport, type StoreLocation, usageError } from '@kim/cli-kit'
import { type AnomalyKind, alertFacts } from '@kim/manifest'
import { listStore, openHistory } from '@kim/observer-sdk/history'
import { statusText, withObserver } from '../journal.js'
import { type BoardEntity, countMember, textMember } from './personas.js'

/** Exit codes of this command alone: 2 for everything but yes and no. */
const EXIT: Readonly<Record<Activity['answer'], number>> = { yes: 0, no: 1, unknown: 2 }

/** `kim-tail activity`: has this author written since? */
export async function run(input: Input, io: Io): Promise<number> {
  const author = input.positional('persona') ?? ''
  const sinceId = input.number('since-id')
  if (sinceId === undefined)
    throw usageError(
      'activity needs --since-id N',
      'give the number of a message; the answer is about later ones, such as --since-id 240',
    )
  const found = await judge(locateStore(input, io.env), author, sinceId)
  const code = EXIT[found.answer]
  // If the reader closes the pipe, the exit code is still the answer.
  process.once('exit', () => {
    process.exitCode = code
  })
  const { answer, floor = null, lastId: last_id = null, why } = found
  const facts = { answer, floor, last_id, persona: author, since_id: sinceId, why }
  printReport(io, input.bool('json'), facts, [`${answer}: ${author} since ${sinceId}: ${why}`])
  return code
}

/** Damage that may hide the message. */
const DAMAGE: readonly AnomalyKind[] = [
  'malformed',
  'future',
  'seq_hole',
  'payload_ref_invalid',
  'blob_missing',
  'blob_mismatch',
  'unreadable',
]

/** Whether no segment is missing or cannot be read. The newest must be opened: no later one shows that it is missing. */
function areSegmentsWhole({ eventsDir }: StoreLocation): boolean {
  const listed = listStore(eventsDir)
  if (listed.ok && listed.value.failures.length > 0) return false
  const past = openHistory(eventsDir)
  const newest = past?.segments.at(-1)
  if (past === undefined || newest === undefined) return true
  const canRead = past.read(newest.number, () => true) === true
  return canRead && past.missing(0, Number.MAX_SAFE_INTEGER).length === 0
}

/** The answer. A journal that cannot be read whole is no evidence of silence. */
async function judge(location: StoreLocation, author: string, sinceId: number): Promise<Activity> {
  const unknown = (why: string): Activity => ({ answer: 'unknown', lastId: undefined, floor: undefined, why })
  try {
    return await withObserver(location, observer => {
      const found = judgeActivity(author, sinceId, observer.state.values())
      const { kind, reasons } = observer.status
      const damage = DAMAGE.filter(anomaly => (observer.anomalies[anomaly] ?? 0) > 0)
      if (found.answer === 'no' && damage.length > 0)
        return unknown(`a part of the journal is missing or damaged (${damage.join(', ')})`)
      if (found.answer === 'no' && !areSegmentsWhole(location))
        return unknown('a segment of the journal is missing or cannot be read')
      if (found.answer === 'no' && kind !== 'live')
        return unknown(`the journal is not complete: ${statusText({ kind, reasons })}`)
      return found
    })
  } catch (error) {
    return unknown(error instanceof Error ? error.message : String(error))
  }
}

/** Whether an author has written, as far as the journal can tell. */
export interface Activity {
  readonly answer: 'yes' | 'no' | 'unknown'
  /** The highest id of an existing message by that author. */
  readonly lastId: number | undefined
  /** Below it not every message can be known. */
  readonly floor: number | undefined
  readonly why: string
}

/**
 * Has this author written a message with an id above `sinceId`? Only existing messages are evidence: others can cause
 * read marks and presence. For a "no", every id above `sinceId` must be known.
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
  // Whatever `sinceId` is, the question is also about ids above the pin.
  if (pin !== undefined) return tell('unknown', `not all messages with an id above ${pin} are known yet`)
  if (unread !== undefined) return tell('unknown', `the payload of ${unread} cannot be read`)
  const known = left === undefined ? '' : ` in the watched inboxes (${left} is not watched any more)`
  return tell(
    'no',
    `${author} wrote no message with an id above ${sinceId}; every id from ${floor} on is known${known}`,
  )
}

/** The number in a message's id; NaN if it has none. */
function idIn(itemId: string): number {
  return Number(/\/(\d+)$/.exec(itemId)?.[1])
}

/** The lowest id from which on all messages of an inbox are known. */
function floorOf(payload: BoardEntity['payload']): number | undefined {
  const floor = countMember(payload, 'floor')
  return floor === undefined ? undefined : Math.max(floor, countMember(payload, 'known_from') ?? 0)
}

function isPin(itemType: string, payload: BoardEntity['payload']): boolean {
  return itemType === 'alert' && alertFacts(payload).is_gap === true && payload?.['status'] === 'open'
}
