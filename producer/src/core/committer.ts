import { compareUtf8 } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { AccountAlerts } from './account-alerts.js'
import { CommitRoom } from './commit-room.js'
import type { CommitOutcome } from './core.js'
import type { CoreState } from './core-state.js'
import { factsPlan, hasFacts } from './facts-plan.js'
import { failedPlan } from './failed-plan.js'
import { genesisDrafts, needsGenesis } from './genesis.js'
import type { Inbox } from './inbox.js'
import { pollPlan } from './poll-plan.js'
import type { Poller } from './poller.js'

/** A commit that was handed out, and what is over with once it is durable. */
interface Handed {
  readonly drafts: readonly Draft[]
  readonly finished: readonly Inbox[]
  /** Whose facts are wholly in it. */
  readonly settled: readonly string[]
}

/** Makes commits of what was decided, and takes them over once they are durable. */
export class Committer {
  readonly #core: CoreState
  readonly #polls: Poller
  readonly #account: AccountAlerts
  readonly #onNewRow: (nowMs: number) => void
  #handed: Handed | undefined

  constructor(parts: {
    readonly core: CoreState
    readonly polls: Poller
    readonly account: AccountAlerts
    readonly onNewRow: (nowMs: number) => void
  }) {
    this.#core = parts.core
    this.#polls = parts.polls
    this.#account = parts.account
    this.#onNewRow = parts.onNewRow
  }

  /** The next commit; the same one until its outcome is known. */
  next(nowMs: number): readonly Draft[] | undefined {
    this.#handed ??= this.#build(nowMs)
    return this.#handed?.drafts
  }

  #build(nowMs: number): Handed | undefined {
    const core = this.#core
    const room = new CommitRoom()
    const drafts: Draft[] = []
    const finished: Inbox[] = []
    const settled: string[] = []
    /** True if the plan fits whole. */
    const take = (plan: Iterable<Draft>): boolean => {
      for (const draft of plan) {
        if (!room.takes(draft)) return false
        drafts.push(draft)
      }
      return true
    }
    for (const name of [...core.dirty].sort(compareUtf8)) {
      const inbox = core.inboxes.get(name)
      if (inbox?.result !== undefined && this.#polls.isWaiting(inbox, nowMs)) continue
      const before = drafts.length
      const isWhole = take(this.#planOf(name, nowMs))
      if (!isWhole) break
      if (drafts.length > before) {
        if (inbox?.result !== undefined) finished.push(inbox)
        else settled.push(name)
      } else if (inbox?.result !== undefined) this.#polls.finish(inbox, nowMs)
      else this.#settle(name)
    }
    if (core.areAlarmsDirty) take(this.#account.plan(nowMs))
    take(this.#genesis())
    return drafts.length === 0 ? undefined : { drafts, finished, settled }
  }

  /** The records of a poll first; what else is known of its persona goes into a commit of its own. */
  #planOf(name: string, nowMs: number): Iterable<Draft> {
    const core = this.#core
    const persona = core.personas.take(name)
    const inbox = core.inboxes.get(name)
    const result = inbox?.result
    if (inbox === undefined || result === undefined) return factsPlan(persona, inbox, core.table, core)
    if (result.kind === 'failed') {
      return failedPlan(persona, result, inbox.liveness, { alertAfter: core.options.alertAfter, nowMs })
    }
    return pollPlan(persona, result, { context: core, isArmed: inbox.isArmed, nowMs })
  }

  /** KS-40: once every selected persona is in, or has failed long enough to be called missing. */
  #genesis(): readonly Draft[] {
    const core = this.#core
    if (!core.isGenesisDirty) return []
    core.isGenesisDirty = false
    if (!needsGenesis(core.capabilities, core.mode)) return []
    if (core.inboxes.size === 0 || (core.mode === 'all' && core.directory?.entries === undefined)) return []
    const missing: string[] = []
    const present: string[] = []
    for (const { name } of core.inboxes.values()) {
      const { record, isDown } = core.personas.take(name)
      if (record === undefined && !isDown) return []
      if (record === undefined) missing.push(name)
      else present.push(name)
    }
    return genesisDrafts(core.mode, present.sort(compareUtf8), missing.sort(compareUtf8))
  }

  #settle(name: string): void {
    const core = this.#core
    const inbox = core.inboxes.get(name)
    if (inbox !== undefined) inbox.reads = []
    core.dirty.delete(name)
    // Counts that came in meanwhile may say something else by now.
    if (hasFacts(core.personas.take(name), inbox, core.table)) core.dirty.add(name)
  }

  /** What became of the commit that was handed out. */
  committed(outcome: CommitOutcome, nowMs: number): void {
    const handed = this.#handed
    this.#handed = undefined
    this.#core.isGenesisDirty = true
    this.#core.areAlarmsDirty = true
    // Where it is not, the journal says what of it is there all the same: the next commit is derived from that.
    if (outcome === 'durable' && handed !== undefined) this.#durable(handed, nowMs)
  }

  #durable({ drafts, finished, settled }: Handed, nowMs: number): void {
    for (const inbox of finished) this.#polls.finish(inbox, nowMs)
    for (const name of settled) this.#settle(name)
    if (drafts.some(({ item_type, action }) => item_type === 'message' && action === 'create'))
      this.#onNewRow(nowMs)
  }
}
