import { checkpointName, type JsonObject, KimError } from '@kim/manifest'
import type { Turn } from '../effects/system.js'
import { isNoSpace } from '../journal/disk-errors.js'
import type { OpenJournal } from '../journal/journal.js'
import { type ControlErrorCode, type Reply, type Request, readRequest, refusal } from './protocol.js'

/** What a running producer can be asked to do. A verb settles once its records are durable (CP-6). */
export interface ControlVerbs {
  /** The last durable seq. */
  headSeq(): number
  /** Makes one persona due, or all of them, and returns how many are due. */
  poke(persona: string | undefined): number
  status(): JsonObject
  /** Rolls and writes a checkpoint. */
  checkpoint(): Promise<JsonObject>
  /** Moves what is due to `archive/`, or returns what would be moved. */
  gc(dryRun: boolean): Promise<JsonObject>
  /** A clean stop; called once, after the reply. */
  shutdown(): void
}

/** Requests that wait for their reply at a time, of all connections together. */
const UNANSWERED_MAX = 64
/** Answers to requests with a key that are remembered. */
const KEYS_MAX = 1000

const VERBS: ReadonlySet<string> = new Set(['status', 'poke', 'checkpoint', 'gc', 'shutdown'])

/** A reply, and what is done once it is on its way. */
export interface ControlAnswer {
  readonly reply: Reply
  readonly after?: () => void
}

/** How a verb is done. */
interface Plan {
  readonly work: () => Promise<JsonObject>
  /** Done once the reply is on its way. */
  readonly after?: () => void
  /** A key given with it means something (CP-12). */
  readonly appends?: true
  /** Requests of one name that come while one runs share its outcome (CP-13). */
  readonly shared?: string
}

/** The outcome of a request that had a key: the result, with the last durable seq of that moment. */
interface Remembered {
  readonly verb: string
  readonly done: Promise<{ readonly seq: number; readonly result: JsonObject }>
}

/** Does what clients ask, one request a turn of the event loop: a flood of requests does not delay the mail (CP-15). */
export class ControlDispatcher {
  readonly #verbs: ControlVerbs
  readonly #turn: Turn
  readonly #waiting: (() => void)[] = []
  /** `checkpoint` and `gc` that are under way (CP-13). */
  readonly #running = new Map<string, Promise<JsonObject>>()
  readonly #keys = new Map<string, Remembered>()
  #unanswered = 0
  #isStopping = false

  constructor(verbs: ControlVerbs, turn: Turn) {
    this.#verbs = verbs
    this.#turn = turn
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
    if (!VERBS.has(verb)) return no('unknown_verb', 'this version does not know the verb')
    if (principal.kind === 'observer' && verb !== 'status')
      return no('not_permitted', 'an observer may only ask for status')
    const plan = this.#plan(verb, params)
    if (typeof plan === 'string') return no('bad_request', plan)
    const key = plan.appends === true ? request.key : undefined
    const known = key === undefined ? undefined : this.#keys.get(key)
    if (known !== undefined && known.verb !== verb)
      return no('bad_request', 'this key was already used with another verb')
    if (known === undefined && this.#isStopping) return no('stopping', 'the producer is shutting down')
    try {
      const { seq, result } = await (known?.done ?? this.#do(verb, plan, key))
      const reply: Reply = { id, ok: true, seq, result }
      if (plan.after === undefined || known !== undefined) return { reply }
      this.#isStopping = true
      return { reply, after: plan.after }
    } catch (error) {
      const message = error instanceof Error ? error.message : 'the request failed'
      return no(isNoSpace(error) ? 'store_full' : 'failed', message)
    }
  }

  /** Under a key, what was done is answered again when it is asked again; what failed may be tried again (CP-12). */
  #do(verb: string, { work, shared }: Plan, key: string | undefined): Remembered['done'] {
    const running = shared === undefined ? work() : this.#share(shared, work)
    const done = running.then(result => ({ seq: this.#verbs.headSeq(), result }))
    if (key === undefined) return done
    this.#keys.set(key, { verb, done })
    const [oldest] = this.#keys.keys()
    if (this.#keys.size > KEYS_MAX && oldest !== undefined) this.#keys.delete(oldest)
    done.catch(() => this.#keys.delete(key))
    return done
  }

  #share(name: string, work: Plan['work']): Promise<JsonObject> {
    const running = this.#running.get(name)
    if (running !== undefined) return running
    const own = work().finally(() => this.#running.delete(name))
    this.#running.set(name, own)
    return own
  }

  /** How to do a verb, or why its parameters are refused. */
  #plan(verb: string, params: JsonObject): Plan | string {
    const verbs = this.#verbs
    switch (verb) {
      case 'poke': {
        const { persona } = params
        if (persona !== undefined && (typeof persona !== 'string' || persona === ''))
          return '"persona" must be a non-empty string'
        return { work: async () => ({ due: verbs.poke(persona) }) }
      }
      case 'checkpoint':
        return { work: async () => verbs.checkpoint(), appends: true, shared: 'checkpoint' }
      case 'gc': {
        const { dry_run: dryRun = false } = params
        if (typeof dryRun !== 'boolean') return '"dry_run" must be true or false'
        return { work: async () => verbs.gc(dryRun), shared: dryRun ? 'gc, dry' : 'gc' }
      }
      case 'shutdown':
        return { work: async () => ({}), after: () => verbs.shutdown(), appends: true }
      default:
        return { work: async () => verbs.status() }
    }
  }
}

/** The verbs that take care of an open journal, done in slices so that nothing waits behind them. */
export function journalCare(
  journal: OpenJournal,
  turn: Turn,
): Pick<ControlVerbs, 'headSeq' | 'checkpoint' | 'gc'> {
  const pause = (): Promise<void> => new Promise(resolve => turn.soon(resolve))
  return {
    headSeq: () => journal.head.seq,
    checkpoint: async () => {
      const before = journal.checkpointSeq
      const archived = journal.archived.length
      journal.roll()
      while (journal.upkeep()) await pause()
      const { checkpointSeq } = journal
      if (checkpointSeq <= before) throw notWritten(journal)
      return {
        file: checkpointName(checkpointSeq),
        head_seq: checkpointSeq,
        previous_head_seq: before,
        entities: journal.state.size,
        moved: journal.archived.slice(archived),
      }
    },
    gc: async (dryRun): Promise<JsonObject> => {
      const { segments, checkpoints } = dryRun ? journal.gcPlan() : journal.gc()
      return { moved: [...segments, ...checkpoints] }
    },
  }
}

function notWritten(journal: OpenJournal): KimError {
  if (!journal.isSettled) return new KimError('store_full', 'cannot write the checkpoint: the disk is full')
  return journal.history.isWhole
    ? new KimError('store_failed', 'the checkpoint was postponed; the log of the producer shows the cause')
    : new KimError('store_damaged', 'cannot write a checkpoint: records before the first segment are missing')
}
