import { type JsonObject, KimError } from '@kim/manifest'
import type { Turn } from '../effects/turn.js'
import { type ControlErrorCode, type Reply, refusal } from './reply.js'
import { type Request, readRequest } from './request.js'
import type { ControlVerbs } from './verbs.js'

/** Requests that wait for their reply at a time, of all connections together. */
const UNANSWERED_MAX = 64
/** Answers to requests with a key that are remembered. */
const KEYS_MAX = 1000

/** A reply, and what is done once it is on its way. */
export interface ControlAnswer {
  readonly reply: Reply
  readonly after?: () => void
}

type Work = () => JsonObject | Promise<JsonObject>

/** How a verb is done; `refused` where its parameters are of the wrong type. */
type Plan = Feasible | { readonly refused: string }

interface Feasible {
  readonly work: Work
  /** Done once the reply is on its way. */
  readonly after?: () => void
  /** A key given with it means something (CP-12). */
  readonly appends?: true
  /** Requests of one name that come while one runs share its outcome (CP-13). */
  readonly shared?: string
}

/** What a request came to, with the last durable seq of that moment. */
interface Done {
  readonly seq: number
  readonly result: JsonObject
}

interface Remembered {
  readonly verb: string
  readonly done: Promise<Done>
}

/**
 * Does what is asked, one request a turn of the event loop, so that a flood of them waits its turn as everything
 * else does (CP-15).
 */
export class ControlDispatcher {
  readonly #verbs: ControlVerbs
  readonly #turn: Turn
  readonly #plans: ReadonlyMap<string, (params: JsonObject) => Plan>
  readonly #waiting: (() => void)[] = []
  /** `checkpoint` and `gc` that are under way (CP-13). */
  readonly #running = new Map<string, Promise<JsonObject>>()
  readonly #keys = new Map<string, Remembered>()
  #unanswered = 0
  #isStopping = false

  constructor(verbs: ControlVerbs, turn: Turn) {
    this.#verbs = verbs
    this.#turn = turn
    this.#plans = new Map<string, (params: JsonObject) => Plan>([
      ['status', () => ({ work: () => verbs.status() })],
      ['poke', params => this.#poke(params)],
      ['checkpoint', () => ({ work: () => verbs.checkpoint(), appends: true, shared: 'checkpoint' })],
      ['gc', params => this.#gc(params)],
      ['shutdown', () => this.#shutdown()],
    ])
  }

  /** From now on everything new is answered `stopping`. */
  stop(): void {
    this.#isStopping = true
  }

  /** Answers one line; it never rejects. */
  async take(line: Buffer): Promise<ControlAnswer> {
    const read = readRequest(line)
    if ('refused' in read) return { reply: read.refused }
    const { request } = read
    if (this.#unanswered >= UNANSWERED_MAX) {
      return { reply: refusal(request.id, 'busy', `${UNANSWERED_MAX} requests are already waiting`) }
    }
    this.#unanswered++
    try {
      await this.#ownTurn()
      return await this.#answer(request)
    } finally {
      this.#unanswered--
    }
  }

  #ownTurn(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) this.#turn.soon(() => this.#next())
    })
  }

  #next(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) this.#turn.soon(() => this.#next())
  }

  async #answer(request: Request): Promise<ControlAnswer> {
    const { id, verb, principal, params } = request
    const no = (code: ControlErrorCode, message: string): ControlAnswer => ({
      reply: refusal(id, code, message),
    })
    const planFor = this.#plans.get(verb)
    if (planFor === undefined) return no('unknown_verb', 'this version does not know the verb')
    if (principal.kind === 'observer' && verb !== 'status') {
      return no('not_permitted', 'an observer may only ask for status')
    }
    const plan = planFor(params)
    if ('refused' in plan) return no('bad_request', plan.refused)
    const key = plan.appends === true ? request.key : undefined
    const known = key === undefined ? undefined : this.#keys.get(key)
    if (known !== undefined && known.verb !== verb)
      return no('bad_request', 'this key was already used with another verb')
    if (known === undefined && this.#isStopping) return no('stopping', 'a shutdown is under way')
    try {
      const { seq, result } = await (known?.done ?? this.#do(verb, plan, key))
      const reply: Reply = { id, ok: true, seq, result }
      if (plan.after === undefined || known !== undefined) return { reply }
      this.#isStopping = true
      return { reply, after: plan.after }
    } catch (error) {
      const isFull = error instanceof KimError && error.code === 'store_full'
      return no(isFull ? 'store_full' : 'failed', error instanceof Error ? error.message : 'the verb failed')
    }
  }

  /** Under a key, what was done is answered again when it is asked again; what failed may be tried again (CP-12). */
  #do(verb: string, { work, shared }: Feasible, key: string | undefined): Promise<Done> {
    const done = (shared === undefined ? promised(work) : this.#share(shared, work)).then(result => ({
      seq: this.#verbs.headSeq(),
      result,
    }))
    if (key !== undefined) this.#remember(key, { verb, done })
    return done
  }

  #share(name: string, work: Work): Promise<JsonObject> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const own = promised(work).finally(() => this.#running.delete(name))
    this.#running.set(name, own)
    return own
  }

  #remember(key: string, one: Remembered): void {
    this.#keys.set(key, one)
    const [oldest] = this.#keys.keys()
    if (this.#keys.size > KEYS_MAX && oldest !== undefined) this.#keys.delete(oldest)
    one.done.catch(() => this.#keys.delete(key))
  }

  #poke({ persona }: JsonObject): Plan {
    if (persona !== undefined && (typeof persona !== 'string' || persona === '')) {
      return { refused: '"persona" must be a non-empty string' }
    }
    return { work: () => ({ due: this.#verbs.poke(persona) }) }
  }

  #gc({ dry_run: dryRun = false }: JsonObject): Plan {
    if (typeof dryRun !== 'boolean') return { refused: '"dry_run" must be true or false' }
    return { work: () => this.#verbs.gc(dryRun), shared: dryRun ? 'gc, dry' : 'gc' }
  }

  #shutdown(): Plan {
    return { work: () => ({}), after: () => this.#verbs.shutdown(), appends: true }
  }
}

/** What a verb throws at once is a rejection like any other. */
async function promised(work: Work): Promise<JsonObject> {
  return work()
}
