/** Kijito over HTTP: which request asks for what, and what its answer comes to (KS-9 to KS-21). */
import { isUtf8 } from 'node:buffer'
import { validateHeaderName } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { safeText } from '@kim/cli-kit'
import {
  type Environment,
  exceedsNesting,
  isCount,
  isJsonObject,
  type JsonObject,
  KimError,
  limits,
  toWellFormed,
} from '@kim/manifest'
import {
  type Clock,
  currentHost,
  type FileSystem,
  loopTimers,
  nodeFileSystem,
  systemClock,
  type Timers,
} from '../effects/system.js'
import { dialectOf, parseBaseUrl } from './address.js'
import {
  type Call,
  type Connect,
  failureOf,
  type HttpResult,
  HttpServer,
  parseFail,
  type Resolve,
  unreachable,
} from './http.js'
import {
  type Answer,
  type BodyResult,
  type Continuation,
  type Dialect,
  type DirectoryEntry,
  NEEDS_TOKEN,
  type Page,
  type PageQuery,
  type PersonaCount,
  type PersonaDirectory,
  type Row,
  type Source,
  type UnreadCounts,
} from './source.js'
import { readToken } from './token.js'

/** Which server, with which token, and with what effects. */
export interface SourceOptions {
  /** `--url`. */
  readonly url: string
  /** `--dialect`; undefined: implied by the URL, or refused. */
  readonly dialect?: Dialect | undefined
  /** Of this program, for the user agent. */
  readonly version: string
  readonly tokenFile?: string | undefined
  /** The name of the header that carries the token as it is; undefined: `Authorization: Bearer`. */
  readonly authHeader?: string | undefined
  readonly allowLoopback?: boolean | undefined
  readonly allowPrivate?: boolean | undefined
  /** Where `KIM_TOKEN` and `KIJITOMON_TOKEN` are looked for, at opening alone. */
  readonly env: Environment
  /** Hears that a token file read again was refused; the old token goes on being used. */
  readonly onTokenRefused?: ((error: KimError) => void) | undefined
  /** Hears, after such a refusal, that a 401 made it read a token again, and from where. */
  readonly onTokenReadAgain?: ((from: string) => void) | undefined
  /** Ends the wait for a resolver that does not answer; the source that comes is then to be closed. */
  readonly signal?: AbortSignal | undefined
  readonly clock?: Clock | undefined
  readonly timers?: Timers | undefined
  readonly fs?: FileSystem | undefined
  /** Who must own the token file; undefined where the platform has no such number. */
  readonly uid?: number | undefined
  readonly resolve?: Resolve | undefined
  readonly connect?: Connect | undefined
}

const SILENCE_MS_MAX = 5000
const TOTAL_MS_MAX = 30_000
const HOLD_SLACK_MS = 10_000

/** Headers that say how the exchange itself goes; a token in their place would break it. */
const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
])

function checkHeaderName(name: string): void {
  const hint = 'name a header that only carries the token, such as X-Api-Key'
  try {
    validateHeaderName(name)
  } catch {
    throw new KimError('usage', `--auth-header: ${JSON.stringify(name)} is not a valid header name`, { hint })
  }
  if (OWN_HEADERS.has(name.toLowerCase())) {
    throw new KimError('usage', `--auth-header: ${name} is reserved for another use`, { hint })
  }
}

/** Path and query; undefined where a value cannot be written in an address. */
function pathOf(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): string | undefined {
  try {
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
  } catch {
    return undefined
  }
}

function pagePath({ persona, beforeId, unreadOnly }: PageQuery): string | undefined {
  return pathOf('/api/inbox', {
    persona,
    mark_read: 'false',
    before_id: beforeId,
    unread_only: unreadOnly === true ? 'true' : undefined,
  })
}

interface Credential {
  readonly from: string | undefined
  header(): Record<string, string>
  /** Reads its file again: because somebody asked for it, or because a server refused it. */
  reload(cause: 'asked' | 'refused'): boolean | undefined
}

/** The credential. In closures only: what prints or inspects a source does not meet it. */
function credential(options: SourceOptions, dialect: Dialect): Credential {
  const { tokenFile: file, authHeader, onTokenRefused, onTokenReadAgain } = options
  const fs = options.fs ?? nodeFileSystem
  const uid = Object.hasOwn(options, 'uid') ? options.uid : currentHost().uid
  const first = readToken(file, options.env, fs, uid)
  let token = first?.token
  if (token === undefined && dialect === 'hosted') {
    throw new KimError('token_invalid', 'the token is missing: the hosted dialect needs one', {
      hint: NEEDS_TOKEN,
    })
  }
  /** Why the file is not taken, as it was said last: every 401 meets the same file (KS-66). */
  let trouble: string | undefined
  return {
    from: first?.from,
    header: () => {
      if (token === undefined) return {}
      return authHeader === undefined ? { Authorization: `Bearer ${token}` } : { [authHeader]: token }
    },
    reload: cause => {
      if (file === undefined) return false
      try {
        const found = readToken(file, {}, fs, uid)
        const changed = found?.token !== token
        token = found?.token
        if (cause === 'refused' && trouble !== undefined && found !== undefined)
          onTokenReadAgain?.(found.from)
        trouble = undefined
        return changed
      } catch (error) {
        if (!(error instanceof KimError)) throw error
        if (cause === 'asked' || error.message !== trouble) onTokenRefused?.(error)
        trouble = error.message
        return undefined
      }
    },
  }
}

/** Resolves when the addresses are judged, after a while without them, or at the signal; a refusal is thrown, other troubles are for later. */
async function judgeEarly({ destination, timers }: HttpServer, signal?: AbortSignal): Promise<void> {
  let stop = (): void => undefined
  const patience = new Promise<void>(resolve => {
    const stopTimer = timers.after(SILENCE_MS_MAX, resolve)
    const giveUp = (): void => resolve()
    if (signal?.aborted === true) giveUp()
    signal?.addEventListener('abort', giveUp)
    stop = () => {
      stopTimer()
      signal?.removeEventListener('abort', giveUp)
    }
  })
  const judged = destination.addresses().then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof KimError) throw error
    },
  )
  await Promise.race([judged, patience]).finally(stop)
}

/**
 * A Kijito server over HTTP. It rejects with a `KimError` for what can never work: a malformed URL, a refused
 * destination, a token that is missing or malformed. A server that is not there is no such thing.
 */
export async function openSource(options: SourceOptions): Promise<Source> {
  const url = parseBaseUrl(options.url)
  const dialect = dialectOf(url, options.dialect)
  if (options.authHeader !== undefined) checkHeaderName(options.authHeader)
  const token = credential(options, dialect)
  const clock = options.clock ?? systemClock
  const timers = options.timers ?? loopTimers
  const permit = { loopback: options.allowLoopback === true, private: options.allowPrivate === true }
  const server = new HttpServer(url, permit, { ...options, clock, timers })
  await judgeEarly(server, options.signal)

  async function ask<T>(
    path: string | undefined,
    deadlines: Pick<Call, 'totalMs' | 'silenceMs'>,
    signal: AbortSignal,
    judge: (value: unknown) => BodyResult<T>,
  ): Promise<Answer<T>> {
    let sentMs = clock.monoMs()
    const finish = (judged: BodyResult<T>, receivedMs: number): Answer<T> => ({
      ...judged,
      sentMs,
      receivedMs,
    })
    if (path === undefined)
      return finish(
        { ok: false, failure: unreachable('the name of the persona or the cursor cannot be part of a URL') },
        sentMs,
      )
    const send = (credentials: Record<string, string>): Promise<HttpResult> => {
      const headers = {
        'User-Agent': `kim/${options.version}`,
        'Accept-Encoding': 'identity',
        ...credentials,
      }
      return server.get({ path, headers, ...deadlines }, signal)
    }
    const shown = token.header()
    let outcome = await send(shown)
    if (!outcome.ok && outcome.failure.status === 401) {
      token.reload('refused')
      const current = token.header()
      // This request read the new token, or one beside it did: what the old one lost is asked for again at once.
      if (!isDeepStrictEqual(current, shown)) {
        sentMs = clock.monoMs()
        outcome = await send(current)
      }
    }
    const receivedMs = clock.monoMs()
    if (!outcome.ok) return finish(outcome, receivedMs)
    const body = parseBody(outcome.value)
    return finish(body.ok ? judge(body.value) : body, receivedMs)
  }

  const ordinary = { totalMs: TOTAL_MS_MAX, silenceMs: SILENCE_MS_MAX }
  return {
    base: url.base,
    dialect,
    tokenFrom: token.from,
    page: (query, signal) =>
      ask(pagePath(query), ordinary, signal, value =>
        validatePage(value, dialect, query.beforeId === undefined),
      ),
    directory: signal => ask('/api/personas', ordinary, signal, judgeDirectory),
    counts: ({ waitSeconds, cursor }, signal) => {
      const isHeld = waitSeconds > 0
      const path = pathOf('/api/notify/pending', { wait: isHeld ? waitSeconds : undefined, cursor })
      const held = { totalMs: waitSeconds * 1000 + HOLD_SLACK_MS, silenceMs: undefined }
      return ask(path, isHeld ? held : ordinary, signal, judgeCounts)
    },
    reloadToken: () => token.reload('asked'),
    close: () => server.connections.destroy(),
  }
}

/** The body is JSON, but not what the endpoint promises. */
function shapeInvalid(detail: string): BodyResult<never> {
  return { ok: false, failure: failureOf('shape-invalid', detail) }
}

const BYTE_ORDER_MARK = 0xfeff

function notJson(detail: string): BodyResult<never> {
  return { ok: false, failure: parseFail(detail) }
}

/** The JSON value of a body: UTF-8, one leading U+FEFF skipped, nested no deeper than any reader bears (KS-9, KS-16). */
export function parseBody(body: Buffer): BodyResult<unknown> {
  if (!isUtf8(body)) return notJson('not valid UTF-8')
  const text = body.toString('utf8')
  const json = text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  if (json === '') return notJson('an empty body')
  // Before parsing: the parser would hold a frame for every level.
  if (exceedsNesting(json)) {
    return notJson(`nested deeper than ${limits.nestingLevelsMax}`)
  }
  try {
    return { ok: true, value: JSON.parse(json) }
  } catch {
    // The parser's own words quote the body.
    return notJson('not JSON')
  }
}

/** What all three endpoints answer: an object whose `result` is an array. */
function resultOf(
  value: unknown,
): BodyResult<{ readonly body: JsonObject; readonly result: readonly unknown[] }> {
  if (!isJsonObject(value)) return shapeInvalid('body is not an object')
  const result = value['result']
  if (!Array.isArray(result)) return shapeInvalid('result is not an array')
  if (result.length > limits.responseRowsMax) {
    return shapeInvalid(`more than ${limits.responseRowsMax} rows`)
  }
  return { ok: true, value: { body: value, result } }
}

/** How much of a refused name a log line shows, and how many of them an answer's log lines name. */
const SHOWN_CHARACTERS_MAX = 80
const SHOWN_NAMES_MAX = 20

/** True for what can be a persona's name: any well-formed text that a record can carry (KS-70). */
export function isPersonaName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= limits.personaNameBytesMax &&
    Buffer.byteLength(value) <= limits.personaNameBytesMax &&
    // The same as isWellFormed, which this level of the language does not have yet.
    !/\p{Surrogate}/u.test(value)
  )
}

/** Names that were refused, safe to print, each once; a flood of them is counted. */
class RefusedNames {
  readonly #shown = new Set<string>()
  #more = 0

  add(value: unknown): void {
    const text = typeof value === 'string' ? value.slice(0, SHOWN_CHARACTERS_MAX) : undefined
    const shown = text === undefined ? 'a row without a name' : `"${safeText(text)}"`
    if (this.#shown.has(shown)) return
    if (this.#shown.size < SHOWN_NAMES_MAX) this.#shown.add(shown)
    else this.#more++
  }

  list(): readonly string[] {
    return this.#more === 0 ? [...this.#shown] : [...this.#shown, `and ${this.#more} more`]
  }
}

type Omission = Pick<
  Page,
  'omitted' | 'isExact' | 'continuation' | 'isContradictory' | 'isClipped' | 'unreadNotShown'
>

/** What a page of the local dialect says by not saying anything. */
const NOTHING_WITHHELD: Omission = {
  omitted: 0,
  isExact: true,
  continuation: { kind: 'end' },
  isContradictory: false,
  isClipped: false,
  unreadNotShown: undefined,
}

function contentOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === null || value === undefined ? '' : JSON.stringify(value)
}

/** A row by KS-19, or undefined where it has no usable id. Lone surrogates become what the journal makes of them. */
function rowOf(value: unknown): Row | undefined {
  if (!isJsonObject(value)) return undefined
  const { id, from, content, created, read } = value
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0) return undefined
  return {
    id,
    from: typeof from === 'string' ? toWellFormed(from) : null,
    content: toWellFormed(contentOf(content)),
    created: typeof created === 'string' ? toWellFormed(created) : null,
    read: read === true,
  }
}

/** All rows, ascending (KS-10); the id that makes them unusable, or nothing where a row has none. */
function rowsOf(result: readonly unknown[]): BodyResult<Row[]> {
  const rows: Row[] = []
  for (const one of result) {
    const row = rowOf(one)
    if (row === undefined) return shapeInvalid('a row has no usable id')
    rows.push(row)
  }
  rows.sort((a, b) => a.id - b.id)
  for (const [at, { id }] of rows.entries()) {
    if (rows[at + 1]?.id === id) return shapeInvalid(`id ${id} occurs twice in one page`)
  }
  return { ok: true, value: rows }
}

function continuationOf(body: JsonObject): Continuation {
  const next = body['next_before_id']
  if (next === null) return { kind: 'end' }
  return isCount(next) ? { kind: 'more', beforeId: next } : { kind: 'unreadable' }
}

/** True unless a member that says whether something was withheld is absent, or says in so many words: no. */
function suggests(body: JsonObject, name: string): boolean {
  return Object.hasOwn(body, name) && body[name] !== false
}

/** What the page says it withheld, row by row of the table of KS-20. */
function omissionOf(body: JsonObject): Omission {
  const dropped = body['size_dropped']
  const continuation = continuationOf(body)
  const exactly = isCount(dropped) ? dropped : 0
  const isVague =
    suggests(body, 'truncated') ||
    (Object.hasOwn(body, 'size_dropped') ? !isCount(dropped) : suggests(body, 'size_truncated'))
  const stated = exactly + (isVague ? 1 : 0)
  const isContradictory = continuation.kind !== 'unreadable' && stated > 0 !== (continuation.kind === 'more')
  const isDoubtful = isContradictory || continuation.kind === 'unreadable'
  const notShown = body['unread_not_shown']
  return {
    omitted: isDoubtful ? Math.max(1, stated) : stated,
    isExact: !isVague && !isDoubtful,
    continuation,
    isContradictory,
    isClipped: body['size_truncated'] === true && dropped === 0,
    unreadNotShown: isCount(notShown) ? notShown : undefined,
  }
}

/** Judges one page of an inbox (KS-16 to KS-21). `isNewest` is false for a page of a walk. */
export function validatePage(value: unknown, dialect: Dialect, isNewest: boolean): BodyResult<Page> {
  const answer = resultOf(value)
  if (!answer.ok) return answer
  const rows = rowsOf(answer.value.result)
  if (!rows.ok) return rows
  const omission = dialect === 'local' ? NOTHING_WITHHELD : omissionOf(answer.value.body)
  if (isNewest && rows.value.length === 0 && omission.omitted > 0) {
    return shapeInvalid('a page without messages says that messages are left out')
  }
  return { ok: true, value: { rows: rows.value, ...omission } }
}

/** A token goes into the next request's address, where a longer one would only ever be refused. */
const CURSOR_CHARACTERS_MAX = 4096

function cursorOf(value: unknown): string | undefined {
  const isUsable =
    typeof value === 'string' &&
    value !== '' &&
    value.length <= CURSOR_CHARACTERS_MAX &&
    !/\p{Surrogate}/u.test(value)
  return isUsable ? value : undefined
}

/** Of two rows of one name the larger numbers: to poll once too often costs less than to take mail for read. */
function larger(a: PersonaCount | undefined, b: PersonaCount): PersonaCount {
  if (a === undefined) return b
  const urgent = [a.unreadUrgent, b.unreadUrgent].filter(one => one !== undefined)
  return {
    unread: Math.max(a.unread, b.unread),
    unreadUrgent: urgent.length === 0 ? undefined : Math.max(...urgent),
  }
}

/** Judges an answer of `/api/notify/pending` (KS-13 to KS-15). */
export function judgeCounts(value: unknown): BodyResult<UnreadCounts> {
  const answer = resultOf(value)
  if (!answer.ok) return answer
  const byPersona = new Map<string, PersonaCount>()
  const refused = new RefusedNames()
  for (const row of answer.value.result) {
    const persona = isJsonObject(row) ? row['persona'] : undefined
    if (!isJsonObject(row) || !isPersonaName(persona)) {
      refused.add(persona)
      continue
    }
    const { unread, unread_urgent: urgent } = row
    const count = { unread: isCount(unread) ? unread : 0, unreadUrgent: isCount(urgent) ? urgent : undefined }
    byPersona.set(persona, larger(byPersona.get(persona), count))
  }
  return {
    ok: true,
    value: { byPersona, cursor: cursorOf(answer.value.body['cursor']), refused: refused.list() },
  }
}

function readCountOf({ mail_total: total, unread }: JsonObject): number | undefined {
  return isCount(total) && isCount(unread) && total >= unread ? total - unread : undefined
}

function entryOf(persona: string, row: JsonObject): DirectoryEntry {
  const memories = row['memory_count']
  return {
    persona,
    memoryCount: isCount(memories) ? memories : undefined,
    readCount: readCountOf(row),
    isRetired: row['retired'] === true,
    isWriteOnly: row['write_only'] === true,
  }
}

/** Judges an answer of `/api/personas` (KS-11, KS-12). The first row of a name counts. */
export function judgeDirectory(value: unknown): BodyResult<PersonaDirectory> {
  const answer = resultOf(value)
  if (!answer.ok) return answer
  const entries = new Map<string, DirectoryEntry>()
  const refused = new RefusedNames()
  for (const row of answer.value.result) {
    const persona = isJsonObject(row) ? row['persona'] : undefined
    if (!isJsonObject(row) || !isPersonaName(persona)) refused.add(persona)
    else if (!entries.has(persona)) entries.set(persona, entryOf(persona, row))
    if (entries.size > limits.personasMax) {
      return shapeInvalid(`more than ${limits.personasMax} personas`)
    }
  }
  if (entries.size === 0) return shapeInvalid('no row names a persona')
  return { ok: true, value: { entries: [...entries.values()], refused: refused.list() } }
}
