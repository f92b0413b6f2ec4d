import { toWellFormed } from '@kim/manifest'
import type { MonitorEvent } from './monitor-event.js'

/** Which member of an event becomes which variable. */
const VARIABLES: Readonly<Record<string, string>> = {
  event: 'EVENT',
  source: 'SOURCE',
  ts: 'TS',
  event_id: 'EVENT_ID',
  nonce: 'NONCE',
  persona: 'PERSONA',
  id: 'ID',
  from: 'FROM',
  content: 'CONTENT',
  created: 'CREATED',
  cursor: 'CURSOR',
  reason: 'REASON',
  consecutive_failures: 'FAILURES',
  seeded: 'SEEDED',
  current_max: 'CURRENT_MAX',
  capped_to: 'CAPPED_TO',
  dropped: 'DROPPED',
  stranded_inboxes: 'STRANDED',
  dormant_inboxes: 'DORMANT',
}

/** Members that belong to one kind only, although others carry them too. */
const ONLY_ON: Readonly<Record<string, readonly string[]>> = { current_max: ['seed_ahead'] }

const PREFIX = 'KIJITOMON_'

/** Ours and Kijito's credentials, whatever they are called: a command that is told of mail must not get them. */
const SECRET = /^(KIM|KIJITO).*(TOKEN|SECRET|PASSWORD|KEY)/i

/**
 * The environment of a command for one event: that of this process without what an earlier event or a token left
 * in it, and the event's own members.
 */
export function execEnvironment(
  event: MonitorEvent,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const result = cleanEnvironment(env)
  for (const [member, name] of Object.entries(VARIABLES)) {
    const value = event[member]
    if (value === undefined || value === null) continue
    if (ONLY_ON[member]?.includes(event.event) === false) continue
    result[`${PREFIX}${name}`] = plain(value)
  }
  return result
}

/** The environment of a command that is told nothing: that of this process without what it must not get. */
export function cleanEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !name.startsWith(PREFIX) && !SECRET.test(name)) result[name] = value
  }
  return result
}

/** A value as a shell can hold it: no NUL, no lone surrogate, lists with commas. */
function plain(value: unknown): string {
  const text = Array.isArray(value) ? value.map(textOf).join(',') : textOf(value)
  return String(toWellFormed(text.replaceAll('\0', '')))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
