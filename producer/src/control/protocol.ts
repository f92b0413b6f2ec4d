/** The control protocol: requests and replies, each one line of JSON (spec/control-protocol.md). */
import { isUtf8 } from 'node:buffer'
import { exceedsNesting, isJsonObject, type JsonObject } from '@kim/manifest'

/** Who asks. */
export interface Principal {
  readonly kind: 'operator' | 'observer' | 'persona'
  readonly name: string
}

/** One request whose members have the right types. The verb checks what `params` holds. */
export interface Request {
  readonly id: string
  readonly verb: string
  readonly principal: Principal
  readonly key: string | undefined
  readonly params: JsonObject
}

/** Why a request was not done; stable. */
export type ControlErrorCode =
  | 'bad_request'
  | 'unknown_verb'
  | 'not_permitted'
  | 'too_large'
  | 'busy'
  | 'stopping'
  | 'store_full'
  | 'failed'

/** The answer to one request. */
export type Reply =
  | {
      readonly id: string
      readonly ok: true
      /** The last seq that is durable because of, or at the time of, this reply. */
      readonly seq: number
      readonly result?: JsonObject
    }
  | {
      /** Null if the id of the request could not be read. */
      readonly id: string | null
      readonly ok: false
      readonly error: { readonly code: ControlErrorCode; readonly message: string }
    }

/** The longest line of a request, in bytes without its `\n`. */
export const REQUEST_BYTES_MAX = 65_536
const ID_BYTES_MAX = 128
const NEWLINE = 0x0a

const UNNAMED: Principal = { kind: 'observer', name: '' }

/** A reply that refuses a request. */
export function refusal(id: string | null, code: ControlErrorCode, message: string): Reply {
  return { id, ok: false, error: { code, message } }
}

/** The object in a line; undefined if the line holds none. */
export function parseControlLine(line: Buffer): JsonObject | undefined {
  if (!isUtf8(line)) return undefined
  const text = line.toString('utf8')
  if (exceedsNesting(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function principalOf(value: unknown): Principal | undefined {
  if (value === undefined) return UNNAMED
  if (!isJsonObject(value)) return undefined
  const { kind, name } = value
  if (kind !== 'operator' && kind !== 'observer' && kind !== 'persona') return undefined
  return typeof name === 'string' ? { kind, name } : undefined
}

/** Reads the line of a request; if it holds none, returns the reply to it. */
export function readRequest(line: Buffer): { readonly request: Request } | { readonly refused: Reply } {
  const refuse = (what: string, id: string | null = null): { refused: Reply } => ({
    refused: refusal(id, 'bad_request', what),
  })
  const value = parseControlLine(line)
  if (value === undefined) return refuse('the request line is not a JSON object')
  const { id, verb, key, params = {} } = value
  if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > ID_BYTES_MAX)
    return refuse(`"id" must be a string of 1 to ${ID_BYTES_MAX} bytes`)
  if (typeof verb !== 'string') return refuse('"verb" must be a string', id)
  const principal = principalOf(value['principal'])
  if (principal === undefined) return refuse('"principal" must hold a known "kind" and a "name"', id)
  if (key !== undefined && (typeof key !== 'string' || key === ''))
    return refuse('"key" must be a non-empty string', id)
  if (!isJsonObject(params)) return refuse('"params" must be an object', id)
  return { request: { id, verb, principal, key, params } }
}

/** Cuts a stream into lines, and holds no more of an unfinished one than a line may have. */
export class LineSplitter {
  readonly #max: number
  #parts: Buffer[] = []
  #held = 0
  /** True once a line was longer than it may be; nothing is taken after it. */
  isTooLong = false

  constructor(max: number) {
    this.#max = max
  }

  /** The lines that a chunk completes, without their `\n`. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    for (let from = 0; !this.isTooLong; ) {
      const end = chunk.indexOf(NEWLINE, from)
      const part = chunk.subarray(from, end === -1 ? chunk.length : end)
      this.#held += part.length
      if (this.#held > this.#max) this.isTooLong = true
      if (end === -1) {
        if (!this.isTooLong && part.length > 0) this.#parts.push(Buffer.from(part))
        break
      }
      if (!this.isTooLong) lines.push(this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part]))
      this.#parts = []
      this.#held = 0
      from = end + 1
    }
    return lines
  }
}
