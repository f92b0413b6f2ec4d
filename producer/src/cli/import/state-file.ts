import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { isCount, isJsonObject, type JsonObject, type JsonValue, KimError } from '@kim/manifest'
import { systemCode } from '../../journal/failure.js'
import { canonicalSource } from '../../journal/store.js'
import { olderFileName } from '../../sinks/file-sink.js'
import { isPersonaName } from '../../source/persona-name.js'
import { memberCount, memberTotal } from './members.js'
import { fractionsAsText } from './written-numbers.js'

/** What one state file of the older monitor says, once there is nothing in it that would have to be guessed. */
export interface OlderState {
  readonly path: string
  readonly persona: string
  /** The base URL of the server that the numbers are about, canonical. */
  readonly source: string
  /** Everything up to it was told; undefined where the older monitor never came to look. */
  readonly cursor: number | undefined
  readonly isDown: boolean
  readonly consecutiveFailures: number
  /** It had announced unread mail that the newest page does not show. */
  readonly isUnreadHidden: boolean
}

const INBOX_PATH = '/api/inbox'
/** A real one has a few hundred bytes. */
const BYTES_MAX = 1024 * 1024

/** Reads a state file strictly: what is damaged, unclear or not finished is refused and never guessed. */
export function readStateFile(path: string): OlderState {
  const refuse = (why: string): never => {
    throw new KimError('config_invalid', `cannot import ${path}: ${why}`, { hint: 'nothing was appended' })
  }
  const state = objectIn(readBytes(path, refuse), refuse)
  for (const key of ['identity', 'cursor', 'state', 'consecutive_failures']) {
    if (!Object.hasOwn(state, key)) refuse(`it has no "${key}": it is damaged or not a state file`)
  }
  const { cursor, state: liveness, consecutive_failures: failures } = state
  if (cursor !== null && !Number.isSafeInteger(cursor)) refuse('its cursor is not a whole number')
  if (liveness !== 'UP' && liveness !== 'DOWN') refuse('its state is neither UP nor DOWN')
  if (!isCount(failures)) refuse('its consecutive_failures is not a count')
  refuseOddFlags(state, refuse)
  refuseUnfinished(state, cursor as number | null, refuse)
  const identity = identityIn(state['identity'], refuse)
  if (!isNamedFor(path, identity.persona)) {
    refuse(`its identity is ${identity.persona}, and its file name says otherwise`)
  }
  return {
    path: realpathSync(path),
    ...identity,
    // A seed could be below the first message there: then nothing was told.
    cursor: cursor === null ? undefined : Math.max(0, cursor as number),
    isDown: liveness === 'DOWN',
    consecutiveFailures: failures as number,
    // As lenient as its writer: anything else says no.
    isUnreadHidden: state['unread_hidden'] === true,
  }
}

/** Every file of the older monitor is named `<persona>.json` or `<anything>.<persona>.json`, folded. */
function isNamedFor(path: string, persona: string): boolean {
  const stem = basename(path, extname(path)).toLowerCase()
  const name = olderFileName(persona)
  return stem === name || stem.endsWith(`.${name}`)
}

type Refuse = (why: string) => never

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function readBytes(path: string, refuse: Refuse): Buffer {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  } catch (error) {
    return refuse(`it cannot be opened: ${systemCode(error)}`)
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) refuse('it is not a regular file')
    const uid = process.getuid?.()
    if (uid !== undefined && stat.uid !== uid) refuse(`it belongs to user ${stat.uid}`)
    if (stat.size > BYTES_MAX) refuse(`it has ${stat.size} bytes, too many for a state file`)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

function objectIn(bytes: Buffer, refuse: Refuse): JsonObject {
  let value: unknown
  let text: string
  try {
    // Its writer puts no mark before the text.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    JSON.parse(text)
    value = JSON.parse(fractionsAsText(text))
  } catch {
    return refuse('it is damaged: it is not valid JSON')
  }
  if (memberCount(text) !== memberTotal(value)) refuse('it is damaged: a key occurs twice')
  return isJsonObject(value) ? value : refuse('it is damaged: it is not a JSON object')
}

/** Members that are there and not of their type prove damage, whatever they would have said. */
function refuseOddFlags(state: JsonObject, refuse: Refuse): void {
  for (const name of ['pin_forced', 'pin_evidence_intact', 'state_corrupt']) {
    const value = state[name] ?? null
    if (value !== null && typeof value !== 'boolean') refuse(`its ${name} is neither true nor false`)
  }
  for (const name of ['gap_alerted', 'pin_release_at']) {
    const value = state[name] ?? null
    if (value !== null && !isWhole(value)) refuse(`its ${name} is not a whole number`)
  }
  const above = state['emitted_above']
  if (above !== undefined && !(Array.isArray(above) && above.every(isWhole))) {
    refuse('its emitted_above is not a list of whole numbers')
  }
}

/** While a gap is open, what was told does not end at the cursor: one number cannot say what was and what was not. */
function refuseUnfinished(state: JsonObject, cursor: number | null, refuse: Refuse): void {
  const above = (state['emitted_above'] as readonly number[] | undefined) ?? []
  const isOpen =
    state['pin_forced'] === true ||
    state['state_corrupt'] === true ||
    state['pin_evidence_intact'] === false ||
    above.some(id => cursor === null || id > cursor)
  if (isOpen) refuse('the older monitor has an open gap; let it run until the gap is closed, then import')
  // Its writer clears both together with what they are about.
  if (isWhole(state['gap_alerted'])) refuse('it has an announced gap, but no emitted_above')
  if (isWhole(state['pin_release_at'])) refuse('it has the end of a pin, but no pin')
}

/** `[scheme, host, port, path, [[key, value]…]]`: a list of another shape is damage, not another source. */
function identityIn(
  identity: JsonValue | undefined,
  refuse: Refuse,
): { readonly persona: string; readonly source: string } {
  const [scheme, host, port, path, query] = Array.isArray(identity) ? identity : []
  const isUsable =
    Array.isArray(identity) &&
    identity.length === 5 &&
    (scheme === 'http' || scheme === 'https') &&
    typeof host === 'string' &&
    (/^[\w-]+(\.[\w-]+)*\.?$/.test(host) || /^[\da-f.]*:[\da-f:.]*$/i.test(host)) &&
    isWhole(port) &&
    port > 0 &&
    port < 65_536 &&
    typeof path === 'string' &&
    Array.isArray(query)
  if (!isUsable) return refuse('its identity is damaged')
  if (path !== INBOX_PATH) refuse(`its identity names ${path}, which is not an inbox`)
  const pairs = query as readonly JsonValue[]
  const [pair] = pairs
  const [key, persona, ...more] = Array.isArray(pair) ? pair : []
  if (pairs.length !== 1 || more.length > 0 || key !== 'persona' || typeof persona !== 'string') {
    return refuse('its identity does not name exactly one persona')
  }
  // Nobody could ask for one that begins or ends with a space.
  if (!isPersonaName(persona) || persona.trim() !== persona) refuse('its identity names an invalid persona')
  const name = host.includes(':') ? `[${host}]` : host
  try {
    return { persona, source: canonicalSource(`${scheme}://${name}:${port}`) }
  } catch {
    return refuse(`its identity does not name a server: ${host}`)
  }
}
