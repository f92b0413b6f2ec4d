import { validateHeaderName } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import { type Environment, KimError } from '@kim/manifest'
import { type Clock, loopTimers, systemClock, type Timers } from '../effects/clock.js'
import { type FileSystem, nodeFileSystem } from '../effects/file-system.js'
import { currentHost } from '../effects/host.js'
import { dialectOf, parseBaseUrl } from './address.js'
import {
  type BodyResult,
  judgeCounts,
  judgeDirectory,
  parseBody,
  unreachable,
  validatePage,
} from './answers.js'
import { type Call, type Connect, type HttpResult, HttpServer, type Resolve } from './http.js'
import { NEEDS_TOKEN } from './remedy.js'
import type { Answer, Dialect, PageQuery, Source } from './source.js'
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
  const first = readToken({ file, env: options.env }, fs, uid)
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
        const found = readToken({ file, env: {} }, fs, uid)
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
    const body = parseBody(outcome.body)
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
