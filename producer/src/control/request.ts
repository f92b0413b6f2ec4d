import { isUtf8 } from 'node:buffer'
import { exceedsNesting, isJsonObject, type JsonObject } from '@kim/manifest'
import { type Reply, refusal } from './reply.js'

/** Who asks. */
export interface Principal {
  readonly kind: 'operator' | 'observer' | 'persona'
  readonly name: string
}

/** One request, its members of the right types; what `params` may hold is the verb's matter. */
export interface Request {
  readonly id: string
  readonly verb: string
  readonly principal: Principal
  readonly key: string | undefined
  readonly params: JsonObject
}

/** The longest line of a request, in bytes without its `\n`. */
export const REQUEST_BYTES_MAX = 65_536
const ID_BYTES_MAX = 128

const NOBODY: Principal = { kind: 'observer', name: '' }

function principalOf(value: unknown): Principal | undefined {
  if (value === undefined) return NOBODY
  if (!isJsonObject(value)) return undefined
  const { kind, name } = value
  if (kind !== 'operator' && kind !== 'observer' && kind !== 'persona') return undefined
  return typeof name === 'string' ? { kind, name } : undefined
}

function parseLine(line: Buffer): JsonObject | undefined {
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

/** Reads one line; what is no request is the reply to it. */
export function readRequest(line: Buffer): { readonly request: Request } | { readonly refused: Reply } {
  const value = parseLine(line)
  if (value === undefined)
    return { refused: refusal(null, 'bad_request', 'the request line is not a JSON object') }
  const { id, verb, key } = value
  if (typeof id !== 'string' || id === '' || Buffer.byteLength(id) > ID_BYTES_MAX) {
    return { refused: refusal(null, 'bad_request', `"id" must be a string of 1 to ${ID_BYTES_MAX} bytes`) }
  }
  const wrong = (what: string): { refused: Reply } => ({ refused: refusal(id, 'bad_request', what) })
  if (typeof verb !== 'string') return wrong('"verb" must be a string')
  const principal = principalOf(value['principal'])
  if (principal === undefined) return wrong('"principal" must hold a known "kind" and a "name"')
  if (key !== undefined && (typeof key !== 'string' || key === ''))
    return wrong('"key" must be a non-empty string')
  const params = value['params'] ?? {}
  if (!isJsonObject(params) || value['params'] === null) return wrong('"params" must be an object')
  return { request: { id, verb, principal, key, params } }
}
