import { limits } from '@kim/manifest'
import { AccountAlerts } from './account-alerts.js'
import { Committer } from './committer.js'
import type {
  Answered,
  Ask,
  Commit,
  CommitOutcome,
  Core,
  CoreNote,
  CoreOptions,
  CoreStatus,
  Now,
} from './core.js'
import { type CoreJournal, CoreState } from './core-state.js'
import { CountsPoller } from './counts-poller.js'
import { NameCheck } from './name-check.js'
import { Poller } from './poller.js'
import { statusOf } from './status.js'
import { verdictOf } from './verdict.js'

/** The decisions of one process over the journal that it just opened. */
export function createCore(options: CoreOptions, journal: CoreJournal): Core {
  return new HiveCore(options, journal)
}

class HiveCore implements Core {
  readonly #core: CoreState
  readonly #polls: Poller
  readonly #counts: CountsPoller
  readonly #committer: Committer
  readonly #account: AccountAlerts
  readonly #names: NameCheck
  readonly #asked: Record<Ask['kind'], number> = { page: 0, counts: 0, directory: 0 }
  #verdict: Core['verdict']
  #directorySentMs = 0
  #hasDirectory = false

  constructor(options: CoreOptions, journal: CoreJournal) {
    const core = new CoreState(options, journal)
    this.#core = core
    this.#polls = new Poller(core)
    this.#counts = new CountsPoller(core)
    this.#names = new NameCheck(core)
    this.#account = new AccountAlerts(core, this.#counts.firstSeenMs)
    this.#committer = new Committer({
      core,
      polls: this.#polls,
      account: this.#account,
      onNewRow: nowMs => this.#counts.rowFollowed(nowMs),
    })
  }

  next({ monoMs }: Now): { readonly asks: readonly Ask[]; readonly wakeAtMs: number | undefined } {
    this.#core.start(monoMs)
    const wakes = [this.#startDirectory(monoMs), this.#counts.start(monoMs), this.#polls.start(monoMs)]
    // One that has passed had its commit in this turn; where the disk took none, it waits for the disk.
    if (this.#account.wakeAtMs > monoMs) wakes.push(this.#account.wakeAtMs)
    const { personas } = this.#core
    if (!personas.isSeen) {
      personas.look()
      if (personas.isSeen) this.#core.areAlarmsDirty = true
      wakes.push(monoMs)
    }
    const asks = this.#core.takeAsks()
    for (const { kind } of asks) this.#asked[kind]++
    const wakeAtMs = Math.min(...wakes)
    return { asks, wakeAtMs: wakeAtMs === Number.POSITIVE_INFINITY ? undefined : wakeAtMs }
  }

  #startDirectory(monoMs: number): number {
    const { directory } = this.#core
    if (directory === undefined) return this.#names.start(monoMs)
    if (directory.dueMs > monoMs) return directory.dueMs
    directory.isAsked = true
    this.#directorySentMs = monoMs
    this.#core.ask({ kind: 'directory' })
    return Number.POSITIVE_INFINITY
  }

  answered(answered: Answered, { monoMs }: Now): void {
    this.#core.start(monoMs)
    switch (answered.kind) {
      case 'page':
        this.#polls.answered(answered.id, answered.answer, monoMs)
        break
      case 'counts':
        this.#counts.answered(answered.answer, monoMs)
        break
      case 'directory':
        // Where this ends it, there is nothing to say about going on.
        this.#verdict ??= verdictOf(this.#core, answered)
        if (this.#verdict === undefined) this.#directory(answered.answer, monoMs)
        break
    }
    this.#verdict ??= verdictOf(this.#core, answered)
  }

  #directory(answer: Extract<Answered, { kind: 'directory' }>['answer'], monoMs: number): void {
    const core = this.#core
    const { directory } = core
    if (directory === undefined) {
      this.#names.answered(answer, monoMs)
      return
    }
    const reason = answer.ok ? '' : answer.failure.reason
    core.noteChange(
      'directory_unavailable',
      !answer.ok,
      {
        level: 'warn',
        code: 'directory_unavailable',
        message: `cannot fetch the persona directory of the server (${reason}): ${this.#watchedMeanwhile()}`,
        failure: reason,
      },
      {
        level: 'info',
        code: 'directory_available',
        message: 'fetched the persona directory of the server again',
      },
    )
    if (!answer.ok) {
      directory.failed(monoMs)
      return
    }
    directory.fetched(answer.value, this.#directorySentMs, monoMs)
    for (const name of answer.value.refused) core.refuse(name)
    for (const { persona } of answer.value.entries) {
      if (core.inboxes.has(persona)) continue
      if (core.inboxes.size < limits.personasMax) core.watch(persona, monoMs, !this.#hasDirectory)
      else this.#sayFull()
    }
    this.#hasDirectory = true
    core.areAlarmsDirty = true
    core.isGenesisDirty = true
  }

  #watchedMeanwhile(): string {
    const { size } = this.#core.inboxes
    if (size === 0) return 'no inbox is watched until then; the producer retries by itself'
    return size === 1 ? 'the one known inbox is still watched' : `the ${size} known inboxes are still watched`
  }

  /** Once: rediscovery only adds, so it stays full as long as this process lives. */
  #sayFull(): void {
    const note = {
      level: 'warn',
      code: 'personas_full',
      message: `${limits.personasMax} inboxes are watched, which is the maximum: other inboxes are ignored`,
    } as const
    this.#core.noteChange('personas_full', true, note, note)
  }

  commit({ monoMs }: Now): Commit | undefined {
    this.#core.start(monoMs)
    const drafts = this.#committer.next(monoMs)
    return drafts === undefined ? undefined : { drafts }
  }

  committed(outcome: CommitOutcome, { monoMs }: Now): void {
    this.#committer.committed(outcome, monoMs)
  }

  poke({ monoMs }: Now, persona?: string): number {
    this.#core.start(monoMs)
    let due = 0
    for (const inbox of this.#core.inboxes.values()) {
      if (persona !== undefined && inbox.name !== persona) continue
      inbox.want(monoMs)
      due++
    }
    return due
  }

  notes(): readonly CoreNote[] {
    return this.#core.takeNotes()
  }

  get verdict(): Core['verdict'] {
    return this.#verdict
  }

  status(): CoreStatus {
    return statusOf(this.#core, {
      polls: this.#polls.polls,
      failures: this.#polls.failures,
      asked: this.#asked,
    })
  }
}
