import { isCount, toWellFormed } from '@kim/manifest'
import type { Continuation, Dialect, Page, Row } from './answer.js'
import { type BodyResult, shapeInvalid } from './failures.js'
import { isMembers, type Members, resultOf } from './result-rows.js'

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
    if (row === undefined) return { ok: false, failure: shapeInvalid('a row has no usable id') }
    rows.push(row)
  }
  rows.sort((a, b) => a.id - b.id)
  for (const [at, { id }] of rows.entries()) {
    if (rows[at + 1]?.id === id)
      return { ok: false, failure: shapeInvalid(`id ${id} stands twice in one page`) }
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
    return { ok: false, failure: shapeInvalid('a page without rows says that rows are withheld') }
  }
  return { ok: true, value: { rows: rows.value, ...omission } }
}
