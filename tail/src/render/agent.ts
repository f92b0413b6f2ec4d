import type { JsonObject, ReadRecord } from '@kim/manifest'
import { firstCodePoints } from '@kim/monitor'
import { bodyOf, idOf, isUrgent, type JournalFacts, senderOf, typeOf } from '../record-line.js'
import { age, recordTimeMs } from './clock.js'
import type { Renderer } from './renderer.js'
import { countCodePoints, fitSafe, word } from './words.js'

/** Names in the head of a line are cut to the first of these that leaves room for the rest: a hostile one may not take it. */
const NAME_CHARACTERS = [64, 32, 16, 8, 4] as const
/** News that is older when it is printed says how old: days-old mail must not be taken for new. */
const FRESH_MS = 60_000

/** What a body must not be able to say of itself: that there is more, and what to run for it. */
const FORGED_SUFFIX = /\((?=\+\d+ chars: )/g

/** Options of agent lines. */
export interface AgentLook {
  readonly facts: JournalFacts
  readonly nowMs: () => number
  /** Characters a line may have; harnesses cut what is longer. */
  readonly maxLine: number
  /** Code points of a body that are shown; undefined for as many as fit. */
  readonly bodyChars: number | undefined
}

/**
 * One line a record for an agent: facts first, then as much of the body as fits, then how to get the rest.
 * Everything is escaped, so a body can never begin a line or forge a fact.
 */
export function createAgent(look: AgentLook): Renderer {
  return ({ record }) => {
    const payload = look.facts.payloadOf(record)
    const body = bodyOf(record, payload)
    const room = look.maxLine - suffix(countCodePoints(body), record.seq).length
    let head = ''
    for (const characters of NAME_CHARACTERS) {
      head = headOf(record, payload, look, characters)
      if (head.length <= room) break
    }
    return compose(head, body, record.seq, look)
  }
}

function headOf(
  record: ReadRecord,
  payload: JsonObject | undefined,
  look: AgentLook,
  characters: number,
): string {
  const sender = senderOf(payload)
  const at = recordTimeMs(record.ts)
  const isOld = at !== undefined && look.nowMs() - at >= FRESH_MS
  const words = [
    `seq=${record.seq}`,
    `id=${word(idOf(record, look.facts), characters * 2)}`,
    ...(sender === undefined ? [] : [`from=${word(sender, characters)}`]),
    `type=${word(typeOf(record), characters)}`,
    `urgent=${isUrgent(payload) ? 1 : 0}`,
    ...(isOld ? [`age=${age(at, look.nowMs())}`] : []),
  ]
  return `${words.join(' ')} | `
}

function compose(head: string, body: string, seq: number, look: AgentLook): string {
  const kept = look.bodyChars === undefined ? body : firstCodePoints(body, look.bodyChars)
  const cutBefore = countCodePoints(body) - countCodePoints(kept)
  const allowed = kept.replace(FORGED_SUFFIX, '\\x28')
  const room = Math.max(0, look.maxLine - head.length)
  const whole = fitSafe(allowed, room)
  if (whole.omitted === 0 && cutBefore === 0) return head + whole.shown
  // The number of omitted characters has at most as many digits as the body's length.
  const longest = suffix(countCodePoints(body), seq).length
  const part = fitSafe(allowed, Math.max(0, room - longest))
  return head + part.shown + suffix(part.omitted + cutBefore, seq)
}

function suffix(omitted: number, seq: number): string {
  return `… (+${omitted} chars: kim-tail show ${seq})`
}
