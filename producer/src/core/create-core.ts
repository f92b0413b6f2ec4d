import { limits } from '@kim/manifest'
import { AccountDesk } from './account-desk.js'
import { Authorship } from './authorship.js'
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
import { CountsDesk } from './counts-desk.js'
import { type CoreJournal, Hive } from './hive.js'
import { NameCheck } from './name-check.js'
import { PollDesk } from './poll-desk.js'
import { ReadIn } from './read-in.js'
import { statusOf } from './status.js'
import { verdictOf } from './verdict.js'

/** The decisions of one process over the journal that it just opened. */
export function createCore(options: CoreOptions, journal: CoreJournal): Core {
  return new HiveCore(options, journal)
}

class HiveCore implements Core {
  readonly #hive: Hive
  readonly #polls: PollDesk
  readonly #counts: CountsDesk
  readonly #committer: Committer
  readonly #account: AccountDesk
  readonly #readIn: ReadIn
  readonly #names: NameCheck
  readonly #asked: Record<Ask['kind'], number> = { page: 0, counts: 0, directory: 0 }
  #verdict: Core['verdict']
  #directorySentMs = 0
  #hasDirectory = false

  constructor(options: CoreOptions, journal: CoreJournal) {
    const hive = new Hive(options, journal)
    const authorship = new Authorship()
    this.#hive = hive
    this.#polls = new PollDesk(hive)
    this.#counts = new CountsDesk(hive)
    this.#names = new NameCheck(hive)
    this.#readIn = new ReadIn(hive.view, hive.personas, authorship)
    this.#account = new AccountDesk(hive, authorship, this.#counts.firstSeenMs)
    this.#committer = new Committer({
      hive,
      polls: this.#polls,
      account: this.#account,
      authorship,
      onNewRow: nowMs => this.#counts.rowFollowed(nowMs),
    })
  }

  next({ monoMs }: Now): { readonly asks: readonly Ask[]; readonly wakeAtMs: number | undefined } {
    this.#hive.start(monoMs)
    const wakes = [this.#startDirectory(monoMs), this.#counts.start(monoMs), this.#polls.start(monoMs)]
    // One that has passed had its commit in this turn; where the disk took none, it waits for the disk.
    if (this.#account.wakeAtMs > monoMs) wakes.push(this.#account.wakeAtMs)
    if (!this.#readIn.isDone) {
      if (this.#readIn.step()) this.#hive.areAlarmsDirty = true
      wakes.push(monoMs)
    }
    const asks = this.#hive.takeAsks()
    for (const { kind } of asks) this.#asked[kind]++
    const wakeAtMs = Math.min(...wakes)
    return { asks, wakeAtMs: wakeAtMs === Number.POSITIVE_INFINITY ? undefined : wakeAtMs }
  }

  #startDirectory(monoMs: number): number {
    const { directory } = this.#hive
    if (directory === undefined) return this.#names.start(monoMs)
    if (directory.dueMs > monoMs) return directory.dueMs
    directory.isAsked = true
    this.#directorySentMs = monoMs
    this.#hive.ask({ kind: 'directory' })
    return Number.POSITIVE_INFINITY
  }

  answered(answered: Answered, { monoMs }: Now): void {
    this.#hive.start(monoMs)
    switch (answered.kind) {
      case 'page':
        this.#polls.answered(answered.id, answered.answer, monoMs)
        break
      case 'counts':
        this.#counts.answered(answered.answer, monoMs)
        break
      case 'directory':
        // Where this ends it, there is nothing to say about going on.
        this.#verdict ??= verdictOf(this.#hive, answered)
        if (this.#verdict === undefined) this.#directory(answered.answer, monoMs)
        break
    }
    this.#verdict ??= verdictOf(this.#hive, answered)
  }

  #directory(answer: Extract<Answered, { kind: 'directory' }>['answer'], monoMs: number): void {
    const hive = this.#hive
    const { directory } = hive
    if (directory === undefined) {
      this.#names.answered(answer, monoMs)
      return
    }
    const reason = answer.ok ? '' : answer.failure.reason
    hive.noteChange(
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
    for (const name of answer.value.refused) hive.refuse(name)
    for (const { persona } of answer.value.entries) {
      if (hive.inboxes.has(persona)) continue
      if (hive.inboxes.size < limits.personasMax) hive.watch(persona, monoMs, !this.#hasDirectory)
      else this.#sayFull()
    }
    this.#hasDirectory = true
    hive.areAlarmsDirty = true
    hive.isGenesisDirty = true
  }

  #watchedMeanwhile(): string {
    const { size } = this.#hive.inboxes
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
    this.#hive.noteChange('personas_full', true, note, note)
  }

  commit({ monoMs }: Now): Commit | undefined {
    this.#hive.start(monoMs)
    const drafts = this.#committer.next(monoMs)
    return drafts === undefined ? undefined : { drafts }
  }

  committed(outcome: CommitOutcome, { monoMs }: Now): void {
    this.#committer.committed(outcome, monoMs)
    if (outcome === 'moved') this.#readIn.restart()
  }

  poke({ monoMs }: Now, persona?: string): number {
    this.#hive.start(monoMs)
    let due = 0
    for (const inbox of this.#hive.inboxes.values()) {
      if (persona !== undefined && inbox.name !== persona) continue
      inbox.want(monoMs)
      due++
    }
    return due
  }

  notes(): readonly CoreNote[] {
    return this.#hive.takeNotes()
  }

  get verdict(): Core['verdict'] {
    return this.#verdict
  }

  status(): CoreStatus {
    return statusOf(this.#hive, {
      polls: this.#polls.polls,
      failures: this.#polls.failures,
      asked: this.#asked,
    })
  }
}
