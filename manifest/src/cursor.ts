/** How far a reader has come in a journal, and the forms in which readers store that. */
import { Buffer } from 'node:buffer'
import { KimError } from './errors.js'
import { isCount, isJsonObject, parseJson } from './json.js'

/** The highest seq that a reader has passed, and who wrote that record. Byte positions are never stored. */
export interface Watermark {
  /** 0 before the first record. */
  readonly seq: number
  /** Writer of the record with that seq; `null` when unknown, and then not compared. */
  readonly writer: string | null
}

/** The watermark of a client, kept in the client's own storage for each project. */
export interface Cursor extends Watermark {
  /** Head of the newest verified checkpoint when the cursor was made; 0 if there was none. */
  readonly checkpoint_seq: number
}

/** A watermark that names its journal. */
export interface CursorToken extends Watermark {
  readonly projectId: string
}

/** The watermark of a named consumer. */
export interface ConsumerCursor extends CursorToken {
  /** Head of the newest verified checkpoint when the cursor was made; 0 if there was none. */
  readonly checkpointSeq: number
}

const TOKEN_PREFIX = 'k1.'

/** A stored pair of seq and writer as a watermark; undefined if it is none. */
export function parseWatermark(seq: unknown, writer: unknown): Watermark | undefined {
  if (!isCount(seq) || (writer !== null && typeof writer !== 'string')) return undefined
  return { seq, writer }
}

/**
 * A stored value as a cursor; undefined if nothing is stored. Anything else is an error: a reader that started without
 * its cursor would silently pass over records that it never delivered.
 */
export function parseCursor(value: unknown): Cursor | undefined {
  if (value === undefined || value === null) return undefined
  const cursor = isJsonObject(value) ? cursorIn(value) : undefined
  if (cursor !== undefined) return cursor
  throw new KimError('cursor_invalid', 'the stored cursor is not valid; it was left as it is')
}

/** The text of a cursor's file. */
export function formatCursor({ checkpoint_seq, seq, writer }: Cursor): string {
  return `${JSON.stringify({ checkpoint_seq, seq, writer })}\n`
}

/** The cursor in the text of a consumer's file; undefined if it holds none. */
export function parseConsumerCursor(text: string): ConsumerCursor | undefined {
  const value = parseJson(text)
  if (!isJsonObject(value)) return undefined
  const projectId = value['project_id']
  const cursor = cursorIn(value)
  if (cursor === undefined || !isProjectId(projectId)) return undefined
  return { projectId, seq: cursor.seq, writer: cursor.writer, checkpointSeq: cursor.checkpoint_seq }
}

/** The text of a consumer's file. */
export function formatConsumerCursor({ checkpointSeq, projectId, seq, writer }: ConsumerCursor): string {
  return `${JSON.stringify({ checkpoint_seq: checkpointSeq, project_id: projectId, seq, writer })}\n`
}

/** The watermark in a `k1.` token; undefined for any other text. */
export function parseCursorToken(text: string): CursorToken | undefined {
  if (!text.startsWith(TOKEN_PREFIX)) return undefined
  const value = parseJson(Buffer.from(text.slice(TOKEN_PREFIX.length), 'base64url').toString('utf8'))
  if (!Array.isArray(value) || value.length !== 3) return undefined
  const [projectId, seq, writer] = value as unknown[]
  const watermark = parseWatermark(seq, writer)
  return watermark === undefined || !isProjectId(projectId) ? undefined : { projectId, ...watermark }
}

/** The `k1.` token of a watermark. Only `parseCursorToken` is meant to read it. */
export function formatCursorToken({ projectId, seq, writer }: CursorToken): string {
  const text = JSON.stringify([projectId, seq, writer])
  return `${TOKEN_PREFIX}${Buffer.from(text).toString('base64url')}`
}

/** Both stored objects may lack the writer and the checkpoint: then they are unknown. */
function cursorIn(value: Readonly<Record<string, unknown>>): Cursor | undefined {
  const { seq, checkpoint_seq = 0, writer = null } = value
  const watermark = parseWatermark(seq, writer)
  return watermark === undefined || !isCount(checkpoint_seq) ? undefined : { ...watermark, checkpoint_seq }
}

function isProjectId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
