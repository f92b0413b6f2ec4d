import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { isCount, isJsonObject, type JsonObject, KimError, type StorePaths } from '@kim/manifest'
import { currentHost } from '../effects/system.js'
import { LineSplitter, type Principal, parseControlLine } from './protocol.js'
import { type SocketPathOptions, socketToAsk } from './socket-path.js'

/** What a client asks. */
export interface ControlRequest {
  readonly verb: string
  readonly principal: Principal
  readonly key?: string | undefined
  readonly params?: JsonObject | undefined
}

/** The answer of the producer; codes of a later version are possible. */
export type ControlReply =
  | { readonly ok: true; readonly seq: number; readonly result: JsonObject }
  | { readonly ok: false; readonly code: string; readonly message: string }

/** How a producer is asked. */
export interface AskOptions extends SocketPathOptions {
  /** Gives up waiting; the request may be done all the same. */
  readonly signal?: AbortSignal | undefined
  /** How long to wait for an answer, in milliseconds; by default without end. */
  readonly withinMs?: number | undefined
}

/** A status of two thousand personas with long names fits many times. */
const REPLY_BYTES_MAX = 16 << 20

/** Errors of a store that no producer listens for: it has no socket, or an old one. */
const NOT_LISTENING = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR'])

function broke(what: string, cause?: unknown): KimError {
  return new KimError('producer_failed', what, cause === undefined ? {} : { cause })
}

function silent(ms: number): KimError {
  const message = `the producer did not answer within ${ms / 1000} s; it may still do what it was asked`
  return new KimError('producer_failed', message, {
    hint: 'see if it hangs: kim-producer status (with the same --store)',
  })
}

function readReply(line: Buffer, id: string): ControlReply | undefined {
  const value = parseControlLine(line)
  const { ok, seq, result = {}, error } = value ?? {}
  // A refusal of the connection names no request.
  if (value !== undefined && value['id'] !== id && value['id'] !== null) return undefined
  if (ok === true && isCount(seq) && isJsonObject(result)) return { ok, seq, result }
  if (ok === false && isJsonObject(error) && typeof error['code'] === 'string') {
    const message = typeof error['message'] === 'string' ? error['message'] : ''
    return { ok, code: error['code'], message }
  }
  throw broke('the producer sent an invalid reply')
}

/** Asks the producer of a store; undefined if none runs. Rejects if the socket cannot be used. */
export async function askProducer(
  paths: StorePaths,
  request: ControlRequest,
  options: AskOptions = {},
): Promise<ControlReply | undefined> {
  const path = socketToAsk(paths, currentHost().uid, options)
  if (path === undefined) return undefined
  const id = randomUUID()
  const { verb, principal, key, params } = request
  const { signal, withinMs } = options
  return new Promise((resolve, reject) => {
    const lines = new LineSplitter(REPLY_BYTES_MAX)
    const socket = connect(path)
    const give = (settle: () => void): void => {
      clearTimeout(patience)
      signal?.removeEventListener('abort', onAbort)
      socket.destroy()
      settle()
    }
    // Not `AbortSignal.timeout`: one that only `AbortSignal.any` holds is collected, and never fires.
    const patience =
      withinMs === undefined ? undefined : setTimeout(() => give(() => reject(silent(withinMs))), withinMs)
    const onAbort = (): void => give(() => reject(broke('stopped waiting for the answer of the producer')))
    if (signal?.aborted === true) return onAbort()
    signal?.addEventListener('abort', onAbort)
    socket.on('connect', () => socket.write(`${JSON.stringify({ id, verb, principal, key, params })}\n`))
    socket.on('data', chunk => {
      try {
        for (const answer of lines.push(chunk)) {
          const reply = readReply(answer, id)
          if (reply !== undefined) return give(() => resolve(reply))
        }
        if (lines.isTooLong) throw broke('the producer sent a reply that is too long')
      } catch (error) {
        give(() => reject(error))
      }
    })
    socket.on('error', error => {
      const code = (error as NodeJS.ErrnoException).code ?? ''
      give(() =>
        NOT_LISTENING.has(code)
          ? resolve(undefined)
          : reject(broke(`cannot connect to the producer: ${code}`, error)),
      )
    })
    socket.on('close', () =>
      give(() => reject(broke('the producer closed the connection without an answer'))),
    )
  })
}
