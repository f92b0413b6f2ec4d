import type {
  Answered,
  Ask,
  Commit,
  CommitOutcome,
  Core,
  CoreNote,
  CoreStatus,
  Draft,
  Now,
} from '@kim/producer/internal'

/** A core that does what a test tells it to, and remembers what it was told. */
export class ScriptedCore implements Core {
  /** Requests for the next `next`. */
  asks: Ask[] = []
  wakeAtMs: number | undefined
  /** Commits that are owed, oldest first. */
  commits: Draft[][] = []
  said: CoreNote[] = []
  verdict: Core['verdict'] = undefined
  readonly seen: Answered[] = []
  readonly outcomes: CommitOutcome[] = []
  readonly poked: (string | undefined)[] = []
  nexts = 0
  /** What an answer makes of this core. */
  onAnswer: (answered: Answered) => void = () => undefined

  next(): { asks: Ask[]; wakeAtMs: number | undefined } {
    this.nexts++
    const asks = this.asks
    this.asks = []
    return { asks, wakeAtMs: this.wakeAtMs }
  }

  answered(answered: Answered): void {
    this.seen.push(answered)
    this.onAnswer(answered)
  }

  commit(): Commit | undefined {
    const [drafts] = this.commits
    return drafts === undefined ? undefined : { drafts }
  }

  committed(outcome: CommitOutcome): void {
    this.outcomes.push(outcome)
    if (outcome !== 'full') this.commits.shift()
  }

  poke(_now: Now, persona?: string): number {
    this.poked.push(persona)
    return 1
  }

  notes(): CoreNote[] {
    return this.said.splice(0)
  }

  status(): CoreStatus {
    return {
      personas: [],
      counts: 'off',
      polls: this.seen.length,
      failures: 0,
      asked: { page: 0, counts: 0, directory: 0 },
      genesis: false,
    }
  }
}
