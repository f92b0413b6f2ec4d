/** One GET over HTTP/1.1: resolving, connecting, its deadlines, its body, and whatever else becomes of it (KS-3 to KS-9). */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { setMaxListeners } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { KimError, limits } from '@kim/manifest'
import type { Clock, Timers } from '../effects/system.js'
import { type BaseUrl, forbidden, type Permit } from './address.js'
import type { BodyResult, RequestFailure } from './source.js'

/** Says which addresses a name has. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

/**
 * The addresses connections go to. A name is resolved when it is first needed and again after a failed connection;
 * every address must be permitted, so that a name cannot lead half of the connections somewhere else (KS-81, KS-82).
 */
class Destination {
  readonly #url: BaseUrl
  readonly #permit: Permit
  readonly #resolve: Resolve
  #pinned: readonly LookupAddress[] = []
  #isStale = true
  #pending: Promise<readonly LookupAddress[]> | undefined

  constructor(url: BaseUrl, permit: Permit, resolve: Resolve) {
    this.#url = url
    this.#permit = permit
    this.#resolve = resolve
  }

  /** What was judged last: where a connection may be made to now. */
  get pinned(): readonly LookupAddress[] {
    return this.#pinned
  }

  /** Rejects with the `KimError` of a refusal, or with whatever the resolver said. */
  addresses(): Promise<readonly LookupAddress[]> {
    if (!this.#isStale) return Promise.resolve(this.#pinned)
    this.#pending ??= this.#judged().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** The addresses did not do: the next request has them looked up again. */
  forget(): void {
    this.#isStale = true
  }

  async #judged(): Promise<readonly LookupAddress[]> {
    const { host } = this.#url
    const literal = isIP(host)
    const found = literal === 0 ? await this.#resolve(host) : [{ address: host, family: literal }]
    for (const { address } of found) {
      const refused = forbidden(this.#url, address, this.#permit)
      if (refused !== undefined) throw refused
    }
    this.#pinned = found
    this.#isStale = found.length === 0
    return found
  }
}

/** Where a connection goes: a host by name, and the judged addresses that it may be made to. */
export interface Target extends Pick<BaseUrl, 'isSecure' | 'host' | 'port'> {
  readonly addresses: readonly LookupAddress[]
}

/** Opens a connection. It is returned at once and says later that it failed. */
export type Connect = (target: Target) => Socket

/** In place of the resolver: hands over what was judged, so that no second look-up can say something else. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses
    if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
    else if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}

/** The network's own connections; certificates are checked against the host, by `authorities` if they are given. */
export function connectTo({ isSecure, host, port, addresses }: Target, authorities?: string): Socket {
  const way = { host, port, lookup: pinnedTo(addresses), autoSelectFamily: true, noDelay: true }
  if (!isSecure) return connectTcp(way)
  const servername = isIP(host) === 0 ? host : ''
  const trust = authorities === undefined ? {} : { ca: authorities }
  return connectTls({ ...way, ...trust, servername, ALPNProtocols: ['http/1.1'] })
}

/** How long a connection may be idle before it is closed, so that nothing on the way forgets it before we do. */
const IDLE_MS_MAX = 30_000

/** A server that speaks without being asked would be heard as the answer to the next request. */
function hangUp(this: Duplex): void {
  this.destroy()
}

/** The connections to one server, kept while they are idle. */
class Connections extends Agent {
  readonly #connect: () => Socket

  constructor(connect: () => Socket) {
    super({ keepAlive: true, scheduling: 'lifo', timeout: IDLE_MS_MAX })
    this.#connect = connect
  }

  override createConnection(): Socket {
    return this.#connect()
  }

  override keepSocketAlive(socket: Duplex): boolean {
    socket.once('data', hangUp)
    super.keepSocketAlive(socket)
    return true
  }

  override reuseSocket(...args: Parameters<Agent['reuseSocket']>): void {
    args[0].removeListener('data', hangUp)
    super.reuseSocket(...args)
  }

  /** Ends idle connections: if one of them was found dead, the others cannot be trusted either. */
  dropIdle(): void {
    for (const sockets of Object.values(this.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy()
    }
  }
}

const FIRST_BYTES = 65_536

/**
 * The bytes of one body. They are copied out of the chunks: a body sent in single bytes would otherwise hold an object
 * and a slice of the network buffer for each of them.
 */
class BodyBuffer implements BudgetedBody {
  readonly giveUp: () => void
  readonly #max: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(max: number, giveUp: () => void) {
    this.#max = max
    this.giveUp = giveUp
  }

  /** What it takes of the memory. */
  get bytes(): number {
    return this.#bytes.length
  }

  /** False once there is more than is taken. */
  push(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length
    if (length > this.#max) return false
    if (length > this.#bytes.length) {
      const room = Math.min(this.#max, Math.max(length, this.#bytes.length * 2, FIRST_BYTES))
      const grown = Buffer.allocUnsafe(room)
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#bytes.set(chunk, this.#length)
    this.#length = length
    return true
  }

  /** All of it; the bytes are those of this buffer. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}

/** A body under way: what it holds, and how it is given up. */
export interface BudgetedBody {
  readonly bytes: number
  giveUp(): void
}

/**
 * What all bodies under way may hold together. If that is too much, the largest is given up, of several the one that
 * began first. So inboxes that send much and never end take neither memory nor the room of an ordinary one (KS-59).
 */
export class BodyBudget {
  readonly #held = new Set<BudgetedBody>()

  /** A body begins. */
  open(body: BudgetedBody): void {
    this.#held.add(body)
  }

  /** It ended, one way or the other. */
  close(body: BudgetedBody): void {
    this.#held.delete(body)
  }

  /** Some body grew. */
  grew(): void {
    let sum = 0
    let largest: BudgetedBody | undefined
    for (const body of this.#held) {
      sum += body.bytes
      if (largest === undefined || body.bytes > largest.bytes) largest = body
    }
    if (sum <= limits.responsesBytesMax || largest === undefined) return
    this.#held.delete(largest)
    largest.giveUp()
    this.grew()
  }
}

/** The way to a server, with what its requests share. Everything that is an effect can be replaced. */
export class HttpServer {
  readonly authority: string
  readonly destination: Destination
  readonly connections: Connections
  readonly budget: BodyBudget = new BodyBudget()
  readonly clock: Clock
  readonly timers: Timers

  constructor(url: BaseUrl, permit: Permit, effects: HttpEffects) {
    const { connect = connectTo, resolve = host => lookup(host, { all: true }) } = effects
    const destination = new Destination(url, permit, resolve)
    this.authority = url.authority
    this.destination = destination
    this.connections = new Connections(() => connect({ ...url, addresses: destination.pinned }))
    this.clock = effects.clock
    this.timers = effects.timers
  }

  /** Makes one request and says how it ended; it never rejects. */
  get(call: Call, signal: AbortSignal): Promise<HttpResult> {
    return new Promise(resolve => new Exchange(this, call, signal, resolve).start())
  }
}

interface HttpEffects {
  readonly clock: Clock
  readonly timers: Timers
  readonly resolve?: Resolve | undefined
  readonly connect?: Connect | undefined
}

/** One `GET`, and how long it may take. */
export interface Call {
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** From the first byte asked for to the last one got, resolving and connecting included. */
  readonly totalMs: number
  /** The longest time without a byte; undefined for a request that the server is asked to hold. */
  readonly silenceMs: number | undefined
}

/** How an exchange ended: the body of a 2xx, or a failure. */
export type HttpResult = BodyResult<Buffer>

/** How often the bytes that came are counted. */
const LOOK_MS = 1000
/** What is read of the body of a refusal, so that its connection can be used again. */
const REFUSAL_BYTES_MAX = 65_536
/** How a connection ends that the other side had given up before our request reached it. */
const RESET = new Set(['ECONNRESET', 'EPIPE'])

/** One request and whatever becomes of it. It settles once, and leaves no timer, listener or open answer behind. */
class Exchange {
  readonly #server: HttpServer
  readonly #call: Call
  readonly #signal: AbortSignal
  readonly #resolve: (outcome: HttpResult) => void
  readonly #startedMs: number
  readonly #onAbort = (): void => this.#fail(unreachable('the producer cancelled the request'))
  #isSettled = false
  #stopLooking: (() => void) | undefined
  #request: ClientRequest | undefined
  #socket: Socket | undefined
  /** What the connection had read before this request, and when a byte came last. */
  #bytesBefore = 0
  #bytesSeen = 0
  #lastByteMs: number
  #isRetry = false
  #hasAnswer = false
  /** A status that decides, whatever becomes of the body. */
  #refusal: RequestFailure | undefined
  #held: BudgetedBody | undefined

  constructor(server: HttpServer, call: Call, signal: AbortSignal, resolve: (outcome: HttpResult) => void) {
    this.#server = server
    this.#call = call
    this.#signal = signal
    this.#resolve = resolve
    this.#startedMs = server.clock.monoMs()
    this.#lastByteMs = this.#startedMs
  }

  start(): void {
    if (this.#signal.aborted) {
      this.#onAbort()
      return
    }
    // One signal may end any number of requests; eleven of them are no leak.
    setMaxListeners(0, this.#signal)
    this.#signal.addEventListener('abort', this.#onAbort)
    this.#look()
    this.#send()
  }

  #settle(outcome: HttpResult): void {
    if (this.#isSettled) return
    this.#isSettled = true
    if (this.#held !== undefined) this.#server.budget.close(this.#held)
    this.#stopLooking?.()
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#resolve(outcome)
  }

  #fail(failure: RequestFailure): void {
    if (this.#isSettled) return
    const hadConnection = this.#request?.reusedSocket === true || this.#bytesRead() > 0
    // The address may have become another one's; the next request looks it up again (KS-82).
    if (failure.token === 'unreachable' && !hadConnection && !this.#signal.aborted)
      this.#server.destination.forget()
    this.#settle({ ok: false, failure: this.#refusal ?? failure })
    this.#request?.destroy()
  }

  #bytesRead(): number {
    return (this.#socket?.bytesRead ?? 0) - this.#bytesBefore
  }

  /** Both deadlines hang on one timer: bytes are counted, not listened for, so that those of a header count too. */
  #look(): void {
    const { totalMs, silenceMs } = this.#call
    const now = this.#server.clock.monoMs()
    const bytes = this.#bytesRead()
    if (bytes !== this.#bytesSeen) {
      this.#bytesSeen = bytes
      this.#lastByteMs = now
    }
    const left = totalMs - (now - this.#startedMs)
    const silence = now - this.#lastByteMs
    if (left <= 0) {
      this.#fail(unreachable(`no complete answer within ${totalMs / 1000} s`))
    } else if (silenceMs !== undefined && silence >= silenceMs) {
      this.#fail(unreachable(`the server sent no data for ${silenceMs / 1000} s`))
    } else {
      const next = silenceMs === undefined ? left : Math.min(left, silenceMs - silence, LOOK_MS)
      this.#stopLooking = this.#server.timers.after(next, () => this.#look())
    }
  }

  #send(): void {
    this.#server.destination
      .addresses()
      .then(() => {
        if (!this.#isSettled) this.#ask()
      })
      .catch((error: unknown) => {
        this.#fail(error instanceof KimError ? unreachable(error.message) : transportFailure(error))
      })
  }

  #ask(): void {
    const asked = request({
      agent: this.#server.connections,
      method: 'GET',
      path: this.#call.path,
      headers: { ...this.#call.headers, Host: this.#server.authority },
      insecureHTTPParser: false,
    })
    this.#request = asked
    asked.on('socket', socket => {
      this.#socket = socket
      this.#bytesBefore = socket.bytesRead
      this.#bytesSeen = 0
    })
    asked.on('response', answer => this.#answered(answer))
    asked.on('error', error => this.#broke(asked, error))
    // An upgrade that was not asked for closes the connection without an error. With an answer, its own end decides.
    asked.on('close', () => {
      if (!this.#hasAnswer) this.#broke(asked, undefined)
    })
    asked.end()
  }

  #broke(asked: ClientRequest, error: Error | undefined): void {
    if (this.#isSettled || asked !== this.#request) return
    const code = (error as NodeJS.ErrnoException | undefined)?.code ?? ''
    if (!this.#isRetry && asked.reusedSocket && this.#bytesRead() === 0 && RESET.has(code)) {
      this.#isRetry = true
      this.#server.connections.dropIdle()
      this.#send()
    } else {
      this.#fail(transportFailure(error))
    }
  }

  #answered(answer: IncomingMessage): void {
    this.#hasAnswer = true
    if (this.#isSettled) return
    const status = answer.statusCode ?? 0
    const isGood = status >= 200 && status < 300
    if (!isGood) this.#refusal = badStatus(status)
    const max = isGood ? limits.responseBytesMax : REFUSAL_BYTES_MAX
    const why =
      'too many large answers arrive at the same time, so the producer gave up this one, the largest; it polls again'
    const body = new BodyBuffer(max, () => this.#fail(parseFail(why)))
    const { budget } = this.#server
    this.#held = body
    budget.open(body)
    answer.on('data', (chunk: Buffer) => {
      if (this.#isSettled) return
      const { bytes } = body
      if (!body.push(chunk)) this.#fail(parseFail(`more than ${max} bytes`))
      else if (body.bytes > bytes) budget.grew()
    })
    answer.on('end', () => {
      if (!answer.complete) return
      const failure = this.#refusal
      this.#settle(failure === undefined ? { ok: true, value: body.whole() } : { ok: false, failure })
    })
    answer.on('error', error => this.#fail(transportFailure(error)))
    answer.on('close', () => this.#fail(transportFailure(undefined)))
  }
}

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

/** An answer with a status other than 2xx. */
function badStatus(status: number): RequestFailure {
  const isRedirect = status >= 300 && status < 400
  return isRedirect
    ? failureOf('redirect', `answered ${status}, which is never followed`, status)
    : failureOf(`http ${status}`, '', status)
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed before the answer was complete',
  EPIPE: 'connection closed before the answer was complete',
  ETIMEDOUT: 'connecting took too long',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOTFOUND: 'name not resolved',
  EAI_AGAIN: 'name not resolved',
  ENODATA: 'name not resolved',
}

/**
 * What an error of the transport comes to. Only its code is used: a message can quote what a server sent, or what we
 * sent it.
 */
export function transportFailure(error: unknown): RequestFailure {
  const code = (error as NodeJS.ErrnoException | null | undefined)?.code
  if (typeof code !== 'string' || !/^\w{1,60}$/.test(code)) return unreachable('the connection failed')
  const words = WORDS[code] ?? (code.startsWith('HPE_') ? 'the answer is not HTTP' : 'the connection failed')
  return unreachable(`${words} (${code})`)
}
