import { limits, toWellFormed } from '@kim/manifest'
import { firstBytes } from './cut-text.js'
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

/** Variables that say which event it is: half of one would say another, so they are whole or not there. */
const IDENTITY: ReadonlySet<string> = new Set(
  ['EVENT', 'SOURCE', 'TS', 'EVENT_ID', 'NONCE', 'PERSONA', 'ID'].map(name => PREFIX + name),
)

/** Ours and Kijito's credentials, whatever they are called: a command that is told of mail must not get them. */
const SECRET = /^(KIM|KIJITO).*(TOKEN|SECRET|PASSWORD|KEY)/i

/**
 * The environment of a command for one event: that of this process without what an earlier event or a token left
 * in it, and the event's own members, cut to what every system takes: a message must not stop the ones after it.
 */
export function execEnvironment(
  event: MonitorEvent,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const own: Record<string, string> = {}
  for (const [member, name] of Object.entries(VARIABLES)) {
    const value = event[member]
    if (value === undefined || value === null) continue
    if (ONLY_ON[member]?.includes(event.event) === false) continue
    own[`${PREFIX}${name}`] = plain(value)
  }
  const lists = Object.keys(VARIABLES).filter(member => Array.isArray(event[member]))
  fit(own, new Set(lists.map(member => `${PREFIX}${VARIABLES[member]}`)))
  return { ...cleanEnvironment(env), ...own }
}

/** An environment with no more of an event than which one it is, for where even the cut one is too long. */
export function bareEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith(PREFIX) || IDENTITY.has(name)),
  )
}

/**
 * Cuts the longest until all fit, by half at most, so that no text goes before a longer one had to. The least limit
 * on a single variable that is in use, 128 KiB, holds for all of them, and leaves room for those that are inherited.
 */
function fit(own: Record<string, string>, lists: ReadonlySet<string>): void {
  for (;;) {
    const sizes = Object.entries(own).map(([name, value]) => [name, Buffer.byteLength(value)] as const)
    // Each has a `=` and an end.
    const total = sizes.reduce((sum, [name, size]) => sum + name.length + 1 + size + 1, 0)
    const excess = total - limits.execEventBytesMax
    if (excess <= 0) return
    const byLength = sizes.sort((a, b) => b[1] - a[1])
    const [name, size] = byLength.find(([one, bytes]) => !IDENTITY.has(one) && bytes > 0) ??
      byLength[0] ?? ['', 0]
    if (IDENTITY.has(name)) delete own[name]
    else own[name] = cut(own[name] ?? '', Math.max(size - excess, Math.floor(size / 2)), lists.has(name))
  }
}

/** The beginning of a text; of a list, whole names. */
function cut(text: string, bytes: number, isList: boolean): string {
  const start = firstBytes(text, bytes)
  if (!isList || text[start.length] === ',') return start
  return start.slice(0, Math.max(0, start.lastIndexOf(',')))
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
