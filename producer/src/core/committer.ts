import { compareUtf8 } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { AccountAlerts } from './account-alerts.js'
import type { Authorship } from './authorship.js'
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
  /** The revision of each persona's record before it. */
  readonly revisions: ReadonlyMap<string, number>
}

/** Makes commits of what was decided, and takes them over once they are durable. */
export class Committer {
  readonly #core: CoreState
  readonly #polls: Poller
  readonly #account: AccountAlerts
  readonly #authorship: Authorship
  readonly #onNewRow: (nowMs: number) => void
  #handed: Handed | undefined
  /** The last commit that a full disk refused: some of it may stand all the same. */
  #refused: Handed | undefined

  constructor(parts: {
    readonly core: CoreState
    readonly polls: Poller
    readonly account: AccountAlerts
    readonly authorship: Authorship
    readonly onNewRow: (nowMs: number) => void
  }) {
    this.#core = parts.core
    this.#polls = parts.polls
    this.#account = parts.account
    this.#authorship = parts.authorship
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
    const revisions = new Map<string, number>()
    /** True if the plan fits whole. */
    const take = (plan: Iterable<Draft>): boolean => {
      for (const draft of plan) {
        if (!room.takes(draft)) return false
        drafts.push(draft)
      }
      return true
    }
    for (const name of [...core.dirty].sort(compareUtf8)) {
      const persona = core.personas.take(name)
      // Another one's commit may have been followed by retention. After a refusal what stands is told by `moved`.
      if (this.#refused === undefined) core.personas.follow(persona)
      const inbox = core.inboxes.get(name)
      if (inbox?.result !== undefined && this.#polls.isWaiting(inbox, nowMs)) continue
      revisions.set(name, persona.revision)
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
    return drafts.length === 0 ? undefined : { drafts, finished, settled, revisions }
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
    if (!needsGenesis(core.view.capabilities, core.mode)) return []
    if (core.inboxes.size === 0 || (core.mode === 'all' && core.directory?.entries === undefined)) return []
    const missing: string[] = []
    const present: string[] = []
    for (const { name } of core.inboxes.values()) {
      const { image, isDown } = core.personas.take(name)
      if (image === undefined && !isDown) return []
      if (image === undefined) missing.push(name)
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
    if (outcome === 'moved') this.#moved(nowMs)
    else if (outcome === 'full') this.#refused = handed
    else if (handed !== undefined) this.#durable(handed, nowMs)
  }

  #durable({ drafts, finished, settled }: Handed, nowMs: number): void {
    const core = this.#core
    this.#refused = undefined
    const touched = new Set<string>()
    let hasNewRow = false
    for (const draft of drafts) {
      if (draft.item_type === 'journal') continue
      touched.add(draft.agent)
      core.personas.take(draft.agent).apply(draft, nowMs)
      if (draft.item_type === 'message' && draft.action === 'create') hasNewRow = true
      if (draft.item_type === 'message') this.#sawAuthor(draft)
      if (draft.event === 'armed') this.#armed(draft.agent)
    }
    for (const name of touched) core.personas.follow(core.personas.take(name))
    for (const inbox of finished) this.#polls.finish(inbox, nowMs)
    for (const name of settled) this.#settle(name)
    if (hasNewRow) this.#onNewRow(nowMs)
  }

  #armed(name: string): void {
    const inbox = this.#core.inboxes.get(name)
    if (inbox !== undefined) inbox.isArmed = true
    this.#core.hasArmed = true
  }

  #sawAuthor({ payload }: Draft): void {
    const author = payload?.['from']
    const id = payload?.['id']
    if (typeof author === 'string' && typeof id === 'number') this.#authorship.saw(author, id)
  }

  /** Part of a refused commit stands after all. Everything is read from the journal anew. */
  #moved(nowMs: number): void {
    const refused = this.#refused
    this.#refused = undefined
    this.#core.personas.derive(nowMs)
    if (refused === undefined) return
    const seen = new Map<string, number>()
    for (const { item_type, agent, event } of refused.drafts) {
      if (item_type !== 'persona') continue
      const n = (seen.get(agent) ?? 0) + 1
      seen.set(agent, n)
      const standing = this.#core.personas.take(agent).revision - (refused.revisions.get(agent) ?? 0)
      if (event === 'armed' && n <= standing) this.#armed(agent)
    }
  }
}
