/** Lines for an agent, which sees only stdout: one line a record, and control lines about the stream itself. */
import { safeText } from '@kim/cli-kit'
import type { JsonObject, ReadRecord } from '@kim/manifest'
import { firstCodePoints, idOf } from '@kim/monitor'
import { bodyOf, isUrgent, senderOf, typeOf } from '../selection.js'
import { age, recordTimeMs } from './clock.js'
import type { Look, Renderer } from './short.js'

/** Names in the head of a line are cut to the first of these that leaves room for the rest, however long they are. */
const NAME_CHARACTERS = [64, 32, 16, 8, 4] as const
/** A line of older news says how old it is, so that an agent does not take days-old mail for new. */
const FRESH_MS = 60_000

/** A body that looks like the suffix of a cut line, which says how to get the rest. It is escaped. */
const FORGED_SUFFIX = /\((?=\+\d+ chars: )/g

/** Options of agent lines. */
export type AgentLook = Pick<Look, 'facts' | 'nowMs' | 'bodyChars'> & {
  /** Characters a line may have; harnesses cut what is longer. */
  readonly maxLine: number
  /** The flag that names the journal; empty for the default one. */
  readonly journalFlag?: string
}

/**
 * One line a record for an agent: facts first, then as much of the body as fits, then how to get the rest.
 * Everything is escaped, so a body can never begin a line or forge a fact.
 */
export function createAgent(look: AgentLook): Renderer {
  const { bodyChars = Number.POSITIVE_INFINITY, facts, maxLine, journalFlag = '' } = look
  // A long path leaves room for the body.
  const flag = journalFlag.length <= maxLine / 4 ? journalFlag : `, same ${journalFlag.trim().split(' ')[0]}`
  return ({ record }) => {
    const payload = facts.payloadOf(record)
    const body = bodyOf(record, payload)
    // The number of omitted characters has at most as many digits as the body's length.
    const longest = suffix(countCodePoints(body), record.seq, flag).length
    let head = ''
    for (const characters of NAME_CHARACTERS) {
      head = headOf(record, payload, look, characters)
      if (head.length <= maxLine - longest) break
    }
    const kept = firstCodePoints(body, bodyChars)
    const cutBefore = countCodePoints(body) - countCodePoints(kept)
    const allowed = kept.replace(FORGED_SUFFIX, '\\x28')
    const room = Math.max(0, maxLine - head.length)
    const whole = fitSafe(allowed, room)
    if (whole.omitted === 0 && cutBefore === 0) return head + whole.shown
    const part = fitSafe(allowed, Math.max(0, room - longest))
    return head + part.shown + suffix(part.omitted + cutBefore, record.seq, flag)
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

function suffix(omitted: number, seq: number, flag: string): string {
  return `… (+${omitted} chars: kim-tail show ${seq}${flag})`
}

/** Characters of one value in a control line. */
const VALUE_CHARACTERS = 160

/** What a control line says besides its name. */
export type ControlFacts = Readonly<Record<string, string | number | undefined>>

/**
 * A line about the stream itself, for an agent that sees nothing but stdout: `kim ready seq=4711 unhandled=3`.
 * Record lines begin with `seq=`, so neither can be taken for the other. Undefined members are left out.
 */
export function controlLine(name: string, facts: ControlFacts): string {
  const words = Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${word(String(value), VALUE_CHARACTERS)}`)
  return ['kim', name, ...words].join(' ')
}

/** Text that cannot pass for a tag of the program that runs the agent, such as `<system-reminder>`. */
export function withoutTags(text: string): string {
  return text.replaceAll('<', '\\x3c').replaceAll('>', '\\x3e')
}

/** Escaped text of at most `width` characters, and how many code points of the original did not fit. */
export function fitSafe(text: string, width: number): { readonly shown: string; readonly omitted: number } {
  let shown = ''
  let at = 0
  for (const character of text) {
    const escaped = withoutTags(safeText(character))
    if (shown.length + escaped.length > width) return { shown, omitted: countCodePoints(text.slice(at)) }
    shown += escaped
    at += character.length
  }
  return { shown, omitted: 0 }
}

/** A value in a `key=value` list: bare if nothing in it could end it, else quoted. */
export function word(text: string, width = 120): string {
  if (/^[\p{L}\p{N}_.:@/+-]+$/u.test(text) && text.length <= width) return text
  // The first bar in a line ends its head.
  const { shown, omitted } = fitSafe(text.replace(/["\\]/g, '\\$&').replaceAll('|', '\\x7c'), width)
  return `"${shown}${omitted > 0 ? '…' : ''}"`
}

/** Code points of a text. */
function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
