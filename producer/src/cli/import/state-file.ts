import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { usageError } from '@kim/cli-kit'
import { isCount, isJsonObject, type JsonObject, type JsonValue, KimError } from '@kim/manifest'
import { systemCode } from '../../journal/disk-errors.js'
import { canonicalSource } from '../../journal/store.js'
import { olderFileName } from '../../sinks/file-sink.js'
import { isPersonaName } from '../../source/kijito.js'

/** A valid state file of the older monitor. */
export interface OlderState {
  readonly path: string
  readonly persona: string
  /** The base URL of the server, canonical. */
  readonly source: string
  /** The older monitor announced everything up to it; undefined if it never polled the inbox. */
  readonly cursor: number | undefined
  readonly isDown: boolean
  readonly consecutiveFailures: number
  /** It announced unread mail that the newest page does not show. */
  readonly isUnreadHidden: boolean
}

const INBOX_PATH = '/api/inbox'
/** A state file has a few hundred bytes. */
const BYTES_MAX = 1024 * 1024

/** Reads a state file strictly: a damaged, unclear or unfinished one is an error, and nothing is guessed. */
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
    refuse(`it is about ${identity.persona}, but its file name is for another persona`)
  }
  return {
    path: realpathSync(path),
    ...identity,
    // A seed below the first message: then nothing was announced.
    cursor: cursor === null ? undefined : Math.max(0, cursor as number),
    isDown: liveness === 'DOWN',
    consecutiveFailures: failures as number,
    // The older monitor reads it the same way.
    isUnreadHidden: state['unread_hidden'] === true,
  }
}

/** The older monitor names its files `<persona>.json` or `<anything>.<persona>.json`, in lower case. */
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
    // The older monitor writes no byte order mark.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    JSON.parse(text)
    value = JSON.parse(fractionsAsText(text))
  } catch {
    return refuse('it is damaged: it is not valid JSON')
  }
  if (memberCount(text) !== memberTotal(value)) refuse('it is damaged: a key occurs twice')
  return isJsonObject(value) ? value : refuse('it is damaged: it is not a JSON object')
}

/** A member of the wrong type proves damage. */
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

/** While a gap is open, messages above the cursor were announced too, and one number cannot describe that. */
function refuseUnfinished(state: JsonObject, cursor: number | null, refuse: Refuse): void {
  const above = (state['emitted_above'] as readonly number[] | undefined) ?? []
  const isOpen =
    state['pin_forced'] === true ||
    state['state_corrupt'] === true ||
    state['pin_evidence_intact'] === false ||
    above.some(id => cursor === null || id > cursor)
  if (isOpen) refuse('the older monitor has an open gap; let it run until the gap is closed, then import')
  // The older monitor clears both when the gap or the pin ends.
  if (isWhole(state['gap_alerted'])) refuse('it is damaged: it has gap_alerted, but no open gap')
  if (isWhole(state['pin_release_at']))
    refuse('it is damaged: it has pin_release_at, but pin_forced is not true')
}

/** `[scheme, host, port, path, [[key, value]…]]`. A list of another shape is damage. */
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
  // A name with a space at an end cannot be requested.
  if (!isPersonaName(persona) || persona.trim() !== persona) refuse('its identity names an invalid persona')
  const name = host.includes(':') ? `[${host}]` : host
  try {
    return { persona, source: canonicalSource(`${scheme}://${name}:${port}`) }
  } catch {
    return refuse(`its identity does not name a server: ${host}`)
  }
}

/** The files that `--state-file` names: the file itself, or else one per persona, such as `hive.argus.json` for `hive.json`. */
export function statePaths(given: readonly string[]): string[] {
  if (given.length === 0)
    throw usageError(
      '--state-file is missing',
      'give --state-file F, with the path that the older monitor had',
    )
  return [...new Set(given.flatMap(pathsOf))]
}

function pathsOf(given: string): string[] {
  const path = resolve(given)
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return [path]
  const directory = dirname(path)
  const extension = extname(path) || '.json'
  const stem = basename(path, extname(path))
  const names = existsSync(directory) ? readdirSync(directory) : []
  const found = names.filter(
    name =>
      name.startsWith(`${stem}.`) &&
      name.endsWith(extension) &&
      name.length > stem.length + 1 + extension.length,
  )
  if (found.length === 0) {
    throw usageError(
      `there is no state file ${path}`,
      `check the path; there is no file per persona either, such as ${stem}.argus${extension}`,
    )
  }
  return found.sort().map(name => join(directory, name))
}

/** The number of members that a JSON text writes, repeated keys included. */
function memberCount(json: string): number {
  let count = 0
  let isString = false
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') isString = !isString
    else if (isString && character === '\\') at++
    else if (!isString && character === ':') count++
  }
  return count
}

/** The number of members after parsing, which keeps one of repeated keys. */
function memberTotal(value: unknown): number {
  let total = 0
  const rest = [value]
  while (rest.length > 0) {
    const one = rest.pop()
    if (typeof one !== 'object' || one === null) continue
    const values: readonly unknown[] = Object.values(one)
    if (!Array.isArray(one)) total += values.length
    for (const inner of values) rest.push(inner)
  }
  return total
}

/** Turns numbers with a fraction or an exponent into strings: parsed, `4.0` and `1e3` would pass as whole numbers. */
function fractionsAsText(json: string): string {
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, token =>
    token.startsWith('"') || /^-?\d+$/.test(token) ? token : `"${token}"`,
  )
}
