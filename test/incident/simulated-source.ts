import {
  bodyBytes,
  type HeldPoll,
  type Instant,
  type Kijito,
  type SimResponse as Served,
  type SimRequest,
} from '@kim/example-kijito-sim'
import {
  type Answer,
  type BodyResult,
  type CountsQuery,
  type Dialect,
  judgeCounts,
  judgeDirectory,
  type Page,
  type PageQuery,
  type PersonaDirectory,
  parseBody,
  type RequestFailure,
  type Source,
  type UnreadCounts,
  validatePage,
} from '@kim/producer/internal'
import type { Prng } from '../kit/index.js'
import type { SimLoop } from './sim-loop.js'

/** A long poll that the server holds. */
interface Waiting {
  readonly held: HeldPoll
  readonly answer: (served: Served | undefined) => void
}

const CUT_OFF = 'unreachable: connection closed before the answer was complete (ECONNRESET)'
/** A reserved name: nobody's server. */
const BASE = 'https://kijito.example'

/**
 * The simulated server as the producer sees it, without a network between them: every answer is judged by the
 * producer's own code, takes a few milliseconds, and is lost where the host slept when it was sent.
 */
export class SimulatedSource implements Source {
  readonly base: string = BASE
  readonly dialect: Dialect = 'hosted'
  readonly tokenFrom: undefined
  readonly #kijito: Kijito
  readonly #loop: SimLoop
  readonly #random: Prng
  readonly #epochMs: number
  readonly #waiting = new Set<Waiting>()

  constructor(kijito: Kijito, loop: SimLoop, random: Prng) {
    this.#kijito = kijito
    this.#loop = loop
    this.#random = random
    this.#epochMs = loop.clock.wallMs()
  }

  /** The server's two clocks: it never sleeps. */
  get now(): Instant {
    const wallMs = this.#loop.clock.wallMs()
    return { wallMs, monoMs: wallMs - this.#epochMs }
  }

  page({ persona, beforeId, unreadOnly }: PageQuery, signal: AbortSignal): Promise<Answer<Page>> {
    const query = {
      ...{ persona, mark_read: 'false' },
      ...(beforeId === undefined ? {} : { before_id: String(beforeId) }),
      ...(unreadOnly === true ? { unread_only: 'true' } : {}),
    }
    return this.#ask('/api/inbox', query, signal, value =>
      validatePage(value, this.dialect, beforeId === undefined),
    )
  }

  counts({ waitSeconds, cursor }: CountsQuery, signal: AbortSignal): Promise<Answer<UnreadCounts>> {
    const query = { wait: String(waitSeconds), ...(cursor === undefined ? {} : { cursor }) }
    return this.#ask('/api/notify/pending', query, signal, judgeCounts)
  }

  directory(signal: AbortSignal): Promise<Answer<PersonaDirectory>> {
    return this.#ask('/api/personas', {}, signal, judgeDirectory)
  }

  reloadToken(): boolean {
    return false
  }

  close(): void {
    this.#waiting.clear()
  }

  /** Something changed at the server: whoever waits for that is answered. */
  changed(): void {
    for (const waiting of this.#waiting) {
      const served = waiting.held.settle(this.now)
      if (served === undefined) continue
      this.#waiting.delete(waiting)
      waiting.answer(this.#loop.isAsleep ? undefined : served)
    }
  }

  #ask<T>(
    path: string,
    query: SimRequest['query'],
    signal: AbortSignal,
    judge: (value: unknown) => BodyResult<T>,
  ): Promise<Answer<T>> {
    const sentMs = this.#loop.clock.monoMs()
    return new Promise(resolve => {
      const answer = (served: Served | undefined): void => {
        const tookMs = this.#random.between(8, 60)
        this.#loop.after(tookMs, () => {
          const judged = judgedOf(served, judge)
          resolve({ ...judged, sentMs, receivedMs: this.#loop.clock.monoMs() })
        })
      }
      const headers = { 'user-agent': 'kim/0.1.0' }
      const outcome = this.#kijito.ask({ method: 'GET', path, query, headers }, this.now)
      if (outcome.kind === 'answer') {
        answer(outcome.answer)
        return
      }
      const waiting = { held: outcome.held, answer }
      this.#waiting.add(waiting)
      this.#loop.at(this.#epochMs + outcome.held.dueMs, () => this.changed())
      signal.addEventListener('abort', () => this.#waiting.delete(waiting))
    })
  }
}

/** What becomes of an answer, as over a network. */
function judgedOf<T>(served: Served | undefined, judge: (value: unknown) => BodyResult<T>): BodyResult<T> {
  if (served === undefined)
    return { ok: false, failure: { token: 'unreachable', status: undefined, reason: CUT_OFF } }
  const { status, body } = served
  if (status !== 200) return { ok: false, failure: badStatus(status) }
  const parsed = parseBody(bodyBytes(body))
  return parsed.ok ? judge(parsed.value) : parsed
}

function badStatus(status: number): RequestFailure {
  return { token: `http ${status}`, status, reason: `http ${status}` }
}
