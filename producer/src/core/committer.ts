import { compareUtf8 } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { AccountDesk } from './account-desk.js'
import type { Authorship } from './authorship.js'
import { CommitRoom } from './commit-room.js'
import type { CommitOutcome } from './core.js'
import { factsPlan, hasFacts } from './facts-plan.js'
import { failedPlan } from './failed-plan.js'
import { genesisDrafts, isGenesisOwed } from './genesis.js'
import type { Hive } from './hive.js'
import type { Inbox } from './inbox.js'
import type { PollDesk } from './poll-desk.js'
import { pollPlan } from './poll-plan.js'

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
  readonly #hive: Hive
  readonly #polls: PollDesk
  readonly #account: AccountDesk
  readonly #authorship: Authorship
  readonly #onNewRow: (nowMs: number) => void
  #handed: Handed | undefined
  /** The last commit that a full disk refused: some of it may stand all the same. */
  #refused: Handed | undefined

  constructor(parts: {
    readonly hive: Hive
    readonly polls: PollDesk
    readonly account: AccountDesk
    readonly authorship: Authorship
    readonly onNewRow: (nowMs: number) => void
  }) {
    this.#hive = parts.hive
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
    const hive = this.#hive
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
    for (const name of [...hive.dirty].sort(compareUtf8)) {
      const persona = hive.personas.take(name)
      // Another one's commit may have been followed by retention. After a refusal what stands is told by `moved`.
      if (this.#refused === undefined) hive.personas.follow(persona)
      const inbox = hive.inboxes.get(name)
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
    if (hive.areAlarmsDirty) take(this.#account.plan(nowMs))
    take(this.#genesis())
    return drafts.length === 0 ? undefined : { drafts, finished, settled, revisions }
  }

  /** The records of a poll first; what else is known of its persona goes into a commit of its own. */
  #planOf(name: string, nowMs: number): Iterable<Draft> {
    const hive = this.#hive
    const persona = hive.personas.take(name)
    const inbox = hive.inboxes.get(name)
    const result = inbox?.result
    if (inbox === undefined || result === undefined) return factsPlan(persona, inbox, hive.table, hive)
    if (result.kind === 'failed') {
      return failedPlan(persona, result, inbox.liveness, { alertAfter: hive.options.alertAfter, nowMs })
    }
    return pollPlan(persona, result, { rules: hive, isArmed: inbox.isArmed, nowMs })
  }

  /** KS-40: once every selected persona is in, or has failed long enough to be called missing. */
  #genesis(): readonly Draft[] {
    const hive = this.#hive
    if (!hive.isGenesisDirty) return []
    hive.isGenesisDirty = false
    if (!isGenesisOwed(hive.view.capabilities, hive.mode)) return []
    if (hive.inboxes.size === 0 || (hive.mode === 'all' && hive.directory?.entries === undefined)) return []
    const missing: string[] = []
    const present: string[] = []
    for (const { name } of hive.inboxes.values()) {
      const { image, isDown } = hive.personas.take(name)
      if (image === undefined && !isDown) return []
      if (image === undefined) missing.push(name)
      else present.push(name)
    }
    return genesisDrafts(hive.mode, present.sort(compareUtf8), missing.sort(compareUtf8))
  }

  #settle(name: string): void {
    const hive = this.#hive
    const inbox = hive.inboxes.get(name)
    if (inbox !== undefined) inbox.reads = []
    hive.dirty.delete(name)
    // Counts that came in meanwhile may say something else by now.
    if (hasFacts(hive.personas.take(name), inbox, hive.table)) hive.dirty.add(name)
  }

  /** What became of the commit that was handed out. */
  committed(outcome: CommitOutcome, nowMs: number): void {
    const handed = this.#handed
    this.#handed = undefined
    this.#hive.isGenesisDirty = true
    this.#hive.areAlarmsDirty = true
    if (outcome === 'moved') this.#moved(nowMs)
    else if (outcome === 'full') this.#refused = handed
    else if (handed !== undefined) this.#durable(handed, nowMs)
  }

  #durable({ drafts, finished, settled }: Handed, nowMs: number): void {
    const hive = this.#hive
    this.#refused = undefined
    const touched = new Set<string>()
    let hasNewRow = false
    for (const draft of drafts) {
      if (draft.item_type === 'journal') continue
      touched.add(draft.agent)
      hive.personas.take(draft.agent).apply(draft, nowMs)
      if (draft.item_type === 'message' && draft.action === 'create') hasNewRow = true
      if (draft.item_type === 'message') this.#sawAuthor(draft)
      if (draft.event === 'armed') this.#armed(draft.agent)
    }
    for (const name of touched) hive.personas.follow(hive.personas.take(name))
    for (const inbox of finished) this.#polls.finish(inbox, nowMs)
    for (const name of settled) this.#settle(name)
    if (hasNewRow) this.#onNewRow(nowMs)
  }

  #armed(name: string): void {
    const inbox = this.#hive.inboxes.get(name)
    if (inbox !== undefined) inbox.isArmed = true
    this.#hive.hasArmed = true
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
    this.#hive.personas.derive(nowMs)
    if (refused === undefined) return
    const seen = new Map<string, number>()
    for (const { item_type, agent, event } of refused.drafts) {
      if (item_type !== 'persona') continue
      const n = (seen.get(agent) ?? 0) + 1
      seen.set(agent, n)
      const standing = this.#hive.personas.take(agent).revision - (refused.revisions.get(agent) ?? 0)
      if (event === 'armed' && n <= standing) this.#armed(agent)
    }
  }
}
