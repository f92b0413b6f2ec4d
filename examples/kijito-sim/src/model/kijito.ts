import { Actions } from './actions.js'
import { errorAnswer, jsonAnswer, type SimResponse } from './answer.js'
import { Directory } from './directory.js'
import { withEffect } from './distort.js'
import { Mail } from './mail.js'
import { type Endpoint, endpointOf, type SimRequest, wholeNumber } from './request.js'
import { RequestLog, type RequestLogEntry } from './request-log.js'
import { RuleBook, type RuleEffect } from './rule.js'
import { type Settings, settingsOf } from './settings.js'
import { windowOf } from './window.js'

/** The two clocks of a server: one that only goes on, and the one it dates messages by. */
export interface Instant {
  readonly monoMs: number
  readonly wallMs: number
}

/** An answer, or a request that is held. */
export type AskResult =
  | { readonly kind: 'answer'; readonly answer: SimResponse; readonly entry: RequestLogEntry }
  | { readonly kind: 'held'; readonly held: HeldPoll; readonly entry: RequestLogEntry }

/** A long poll that waits for mail. */
export interface HeldPoll {
  /** When it is answered at the latest. */
  readonly dueMs: number
  /** Its answer, once there is mail or it is due; until then undefined. */
  settle(now: Instant): SimResponse | undefined
  /** The client is gone. */
  leave(now: Instant): void
}

const READS: readonly Endpoint[] = ['inbox', 'personas', 'pending', 'presence']
/** Names that libraries send when no name was chosen. */
const LIBRARY_AGENTS = /^(python-urllib|python-requests|node|undici|axios|curl|got|java|go-http-client)\b/i

/**
 * A Kijito account as its HTTP interface shows it. It has no clock and no socket: a request and an instant go in,
 * an answer as data comes out, so that a simulated clock can drive it as well as a server.
 */
export class Kijito {
  readonly mail: Mail = new Mail()
  readonly directory: Directory = new Directory()
  readonly rules: RuleBook = new RuleBook()
  readonly log: RequestLog = new RequestLog()
  readonly #actions = new Actions()
  settings: Settings

  constructor(settings: Settings = settingsOf('hosted')) {
    this.settings = settings
  }

  /** Answers a request, or holds it. */
  ask(request: SimRequest, now: Instant): AskResult {
    const entry = this.log.add(request, now.monoMs)
    const effect = this.rules.effectOn(request)
    const refusal = effect?.status === undefined ? this.#refuse(request) : undefined
    const end = (answer: SimResponse, at: Instant): SimResponse => {
      const affected = effect === undefined ? answer : withEffect(answer, effect)
      entry.endedMs = at.monoMs + affected.delayMs
      entry.status = affected.status
      return affected
    }
    const holdMs = refusal === undefined ? this.#holdMs(request, effect) : 0
    if (holdMs === 0)
      return { kind: 'answer', answer: end(refusal ?? this.#serve(request, now, effect), now), entry }
    const dueMs = now.monoMs + holdMs
    const token = this.#token()
    const isForced = effect?.hold_ms !== undefined
    const settle = (at: Instant): SimResponse | undefined => {
      const isNews = !isForced && this.#token() !== token
      return isNews || at.monoMs >= dueMs ? end(this.#serve(request, at, effect), at) : undefined
    }
    const leave = (at: Instant): void => {
      entry.endedMs = at.monoMs
      entry.wentAway = true
    }
    return { kind: 'held', held: { dueMs, settle, leave }, entry }
  }

  #refuse({ path, method, headers }: SimRequest): SimResponse | undefined {
    const { token, namedAgentsOnly, hive } = this.settings
    const agent = headers['user-agent'] ?? ''
    if (namedAgentsOnly && (!/^[\w.-]+\/\S/.test(agent) || LIBRARY_AGENTS.test(agent)))
      return errorAnswer(403)
    // A custom header is the operator's choice: the token is good wherever it stands.
    const isKnown = Object.values(headers).some(value => value === `Bearer ${token}` || value === token)
    if (token !== null && !isKnown) return errorAnswer(401)
    const endpoint = endpointOf(path)
    if (!hive || endpoint === 'other') return errorAnswer(404)
    if (endpoint === 'pending' && this.settings.pending === 'missing') return errorAnswer(404)
    return method === (READS.includes(endpoint) ? 'GET' : 'POST') ? undefined : errorAnswer(405)
  }

  #serve(request: SimRequest, now: Instant, effect: RuleEffect | undefined): SimResponse {
    const created = new Date(now.wallMs).toISOString()
    switch (endpointOf(request.path)) {
      case 'inbox':
        return this.#inbox(request, effect)
      case 'personas':
        return jsonAnswer({ result: this.directory.rows(this.mail, this.settings) })
      case 'pending':
        return this.#pending()
      case 'send':
        return this.#actions.send(request.body, this.mail, created)
      case 'claim':
        return this.#actions.claim(request.body, now.monoMs)
      case 'release':
        return this.#actions.release(request.body)
      case 'presence':
        return jsonAnswer({ result: { persona: request.query['persona'] ?? null, active: true } })
      case 'other':
        return errorAnswer(404)
    }
  }

  #inbox({ query }: SimRequest, effect: RuleEffect | undefined): SimResponse {
    const { persona, mark_read: mark = 'true', unread_only: unread = 'false' } = query
    const before = wholeNumber(query['before_id'])
    const limit = wholeNumber(query['limit'])
    const isFlag = (text: string): boolean => text === 'true' || text === 'false'
    if (!persona || before === 'invalid' || limit === 'invalid' || !isFlag(mark) || !isFlag(unread)) {
      return errorAnswer(400)
    }
    const beforeId = effect?.distort === 'ignore-before-id' ? undefined : before
    const asked = { beforeId, limit, unreadOnly: unread === 'true', markRead: mark === 'true' }
    const { body, marked } = windowOf(this.mail.inbox(persona), asked, this.settings)
    if (marked.length > 0) this.mail.mark(persona, marked)
    return jsonAnswer(body)
  }

  #pending(): SimResponse {
    const { unreadCounts, zeroRows, pending } = this.settings
    const result = Array.from(this.mail.personas(), persona => {
      const { unread, urgent } = this.mail.unread(persona)
      if (unreadCounts === 'absent') return { persona }
      return unreadCounts === 'zero'
        ? { persona, unread: 0, unread_urgent: 0 }
        : { persona, unread, unread_urgent: urgent }
    }).filter(({ unread }) => zeroRows || unread !== 0)
    return jsonAnswer(pending === 'long-poll' ? { result, cursor: this.#token() } : { result })
  }

  /** What a client echoes: opaque to it, and it passes when mail comes in. */
  #token(): string {
    const reads = this.settings.readMovesToken ? `.${this.mail.reads}` : ''
    return `m${this.mail.lastId}${reads}`
  }

  /** How long a request is held if nothing happens; 0: it is answered at once. */
  #holdMs(request: SimRequest, effect: RuleEffect | undefined): number {
    if (effect?.hold_ms !== undefined) return effect.hold_ms
    if (endpointOf(request.path) !== 'pending' || this.settings.pending !== 'long-poll') return 0
    const { wait, cursor } = request.query
    const seconds = wholeNumber(wait)
    if (typeof seconds !== 'number') return 0
    const isCurrent = cursor === undefined ? this.settings.holdFirst : cursor === this.#token()
    return isCurrent ? Math.min(seconds, this.settings.maxWaitSeconds) * 1000 : 0
  }
}
