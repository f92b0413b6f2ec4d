/** Judges what a server answers: bytes become JSON, JSON becomes a page, counts or a directory, or a failure (KS-9 to KS-21). */
import { isUtf8 } from 'node:buffer'
import { safeText } from '@kim/cli-kit'
import { exceedsNesting, isCount, limits, toWellFormed } from '@kim/manifest'
import type {
  Continuation,
  Dialect,
  DirectoryEntry,
  Page,
  PersonaCount,
  PersonaDirectory,
  RequestFailure,
  Row,
  UnreadCounts,
} from './source.js'

/** What the judge of a body says: the value, or why there is none. */
export type BodyResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: RequestFailure }

/** What a failed request is reported as. */
export function failureOf(token: RequestFailure['token'], detail: string, status?: number): RequestFailure {
  return { token, status, reason: detail === '' ? token : `${token}: ${detail}` }
}

/** No answer came, or not a whole one. */
export function unreachable(detail: string): RequestFailure {
  return failureOf('unreachable', detail)
}

/** The body is not one JSON text we take. */
export function parseFail(detail: string): RequestFailure {
  return failureOf('parse-fail', detail)
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

/** An object as JSON has it, its members not yet judged. */
type Members = Readonly<Record<string, unknown>>

/** True for a JSON object: neither `null` nor an array. */
function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What all three endpoints answer: an object whose `result` is an array. */
function resultOf(
  value: unknown,
): BodyResult<{ readonly body: Members; readonly result: readonly unknown[] }> {
  if (!isMembers(value)) return shapeInvalid('body is not an object')
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
  if (!isMembers(value)) return undefined
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

function continuationOf(body: Members): Continuation {
  const next = body['next_before_id']
  if (next === null) return { kind: 'end' }
  return isCount(next) ? { kind: 'more', beforeId: next } : { kind: 'unreadable' }
}

/** True unless a member that says whether something was withheld is absent, or says in so many words: no. */
function suggests(body: Members, name: string): boolean {
  return Object.hasOwn(body, name) && body[name] !== false
}

/** What the page says it withheld, row by row of the table of KS-20. */
function omissionOf(body: Members): Omission {
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
    const persona = isMembers(row) ? row['persona'] : undefined
    if (!isMembers(row) || !isPersonaName(persona)) {
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

function readCountOf({ mail_total: total, unread }: Members): number | undefined {
  return isCount(total) && isCount(unread) && total >= unread ? total - unread : undefined
}

function entryOf(persona: string, row: Members): DirectoryEntry {
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
    const persona = isMembers(row) ? row['persona'] : undefined
    if (!isMembers(row) || !isPersonaName(persona)) refused.add(persona)
    else if (!entries.has(persona)) entries.set(persona, entryOf(persona, row))
    if (entries.size > limits.personasMax) {
      return shapeInvalid(`more than ${limits.personasMax} personas`)
    }
  }
  if (entries.size === 0) return shapeInvalid('no row names a persona')
  return { ok: true, value: { entries: [...entries.values()], refused: refused.list() } }
}
