/** The environment of a command that is run for an event. */
import { type Environment, limits, toWellFormed } from '@kim/manifest'
import { firstBytes } from './event-line.js'
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

/** Members that become a variable for one kind only, although others have them too. */
const ONLY_ON: Readonly<Record<string, readonly string[]>> = { current_max: ['seed_ahead'] }

const PREFIX = 'KIJITOMON_'

/** Variables that say which event it is. Half of one would name another event, so they are whole or left out. */
const IDENTITY: ReadonlySet<string> = new Set(
  ['EVENT', 'SOURCE', 'TS', 'EVENT_ID', 'NONCE', 'PERSONA', 'ID'].map(name => PREFIX + name),
)

/** Our and Kijito's credentials, whatever their names: a command must not get them. */
const SECRET = /^(KIM|KIJITO).*(TOKEN|SECRET|PASSWORD|KEY)/i

/**
 * The environment of a command for one event: that of this process, without tokens and variables of an earlier event,
 * and the event's own members. They are cut to what every system takes: a message must not stop the ones after it.
 */
export function execEnvironment(event: MonitorEvent, env: Environment): Record<string, string> {
  const own: Record<string, string> = {}
  const lists = new Set<string>()
  for (const [member, variable] of Object.entries(VARIABLES)) {
    const value = event[member]
    if (value === undefined || value === null) continue
    if (ONLY_ON[member]?.includes(event.event) === false) continue
    const name = PREFIX + variable
    own[name] = plain(value)
    if (Array.isArray(value)) lists.add(name)
  }
  fit(own, lists)
  return { ...cleanEnvironment(env), ...own }
}

/** An environment with only the variables that say which event it is, for a system that refuses even the cut one. */
export function bareEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith(PREFIX) || IDENTITY.has(name)),
  )
}

/**
 * Cuts the longest variable until all fit, by half at most, so that a text is cut only after each longer one. The
 * lowest limit of any system on a single variable, 128 KiB, applies to all together: so the inherited ones have room.
 */
function fit(own: Record<string, string>, lists: ReadonlySet<string>): void {
  for (;;) {
    const sizes = Object.entries(own).map(([name, value]) => [name, Buffer.byteLength(value)] as const)
    // Each has a `=` and a final zero byte.
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

/** The environment of a command that gets no event: that of this process without credentials. */
export function cleanEnvironment(env: Environment): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && !name.startsWith(PREFIX) && !SECRET.test(name)) result[name] = value
  }
  return result
}

/** A value as a shell can hold it: no NUL, no lone surrogate, lists with commas. */
function plain(value: unknown): string {
  const texts = [value].flat().map(one => (typeof one === 'string' ? one : JSON.stringify(one)))
  return String(toWellFormed(texts.join(',').replaceAll('\0', '')))
}
