import { setMaxListeners } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { KimError, limits } from '@kim/manifest'
import type { Clock } from '../effects/clock.js'
import type { Timers } from '../effects/timers.js'
import type { RequestFailure } from './answer.js'
import type { BodyBudget, BudgetedBody } from './body-budget.js'
import { BodyBuffer } from './body-buffer.js'
import type { Connections } from './connections.js'
import type { Destination } from './destination.js'
import { badStatus, parseFail, transportFailure, unreachable } from './failures.js'

/** What every exchange with one server shares. */
export interface Line {
  readonly authority: string
  readonly destination: Destination
  readonly connections: Connections
  readonly budget: BodyBudget
  readonly clock: Clock
  readonly timers: Timers
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
export type HttpResult =
  | { readonly ok: true; readonly body: Buffer }
  | { readonly ok: false; readonly failure: RequestFailure }

/** How often the bytes that came are looked at. */
const LOOK_MS = 1000
/** What is read of the body of a refusal, so that its connection can be used again. */
const REFUSAL_BYTES_MAX = 65_536
/** How a connection ends that the other side had given up before our request reached it. */
const RESET = new Set(['ECONNRESET', 'EPIPE'])

/** One request and whatever becomes of it. It settles once, and leaves no timer, listener or open answer behind. */
class Exchange {
  readonly #line: Line
  readonly #call: Call
  readonly #signal: AbortSignal
  readonly #resolve: (outcome: HttpResult) => void
  readonly #startedMs: number
  readonly #onAbort = (): void => this.#fail(unreachable('given up, because something else is to be done'))
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

  constructor(line: Line, call: Call, signal: AbortSignal, resolve: (outcome: HttpResult) => void) {
    this.#line = line
    this.#call = call
    this.#signal = signal
    this.#resolve = resolve
    this.#startedMs = line.clock.monoMs()
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
    if (this.#held !== undefined) this.#line.budget.close(this.#held)
    this.#stopLooking?.()
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#resolve(outcome)
  }

  #fail(failure: RequestFailure): void {
    if (this.#isSettled) return
    const hadConnection = this.#request?.reusedSocket === true || this.#bytesRead() > 0
    // The address may have become another one's; the next request looks it up again (KS-82).
    if (failure.token === 'unreachable' && !hadConnection && !this.#signal.aborted)
      this.#line.destination.forget()
    this.#settle({ ok: false, failure: this.#refusal ?? failure })
    this.#request?.destroy()
  }

  #bytesRead(): number {
    return (this.#socket?.bytesRead ?? 0) - this.#bytesBefore
  }

  /** Both deadlines hang on one timer: bytes are counted, not listened for, so that those of a header count too. */
  #look(): void {
    const { totalMs, silenceMs } = this.#call
    const now = this.#line.clock.monoMs()
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
      this.#fail(unreachable(`nothing came for ${silenceMs / 1000} s`))
    } else {
      const next = silenceMs === undefined ? left : Math.min(left, silenceMs - silence, LOOK_MS)
      this.#stopLooking = this.#line.timers.after(next, () => this.#look())
    }
  }

  #send(): void {
    this.#line.destination
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
      agent: this.#line.connections,
      method: 'GET',
      path: this.#call.path,
      headers: { ...this.#call.headers, Host: this.#line.authority },
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
    // An upgrade nobody asked for closes the connection without an error. With an answer, its own end decides.
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
      this.#line.connections.dropIdle()
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
    const body = new BodyBuffer(max)
    const { budget } = this.#line
    const giveUp = (): void =>
      this.#fail(parseFail('the largest of answers under way that are too much together'))
    this.#held = {
      get bytes() {
        return body.room
      },
      giveUp,
    }
    budget.open(this.#held)
    answer.on('data', (chunk: Buffer) => {
      if (this.#isSettled) return
      const { room } = body
      if (!body.push(chunk)) this.#fail(parseFail(`more than ${max} bytes`))
      else if (body.room > room) budget.grew()
    })
    answer.on('end', () => {
      if (!answer.complete) return
      const failure = this.#refusal
      this.#settle(failure === undefined ? { ok: true, body: body.whole() } : { ok: false, failure })
    })
    answer.on('error', error => this.#fail(transportFailure(error)))
    answer.on('close', () => this.#fail(transportFailure(undefined)))
  }
}

/** Makes one request and says how it ended; it never rejects. */
export function exchange(line: Line, call: Call, signal: AbortSignal): Promise<HttpResult> {
  return new Promise(resolve => new Exchange(line, call, signal, resolve).start())
}
