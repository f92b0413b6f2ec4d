import {
  type Answered,
  type Ask,
  type CommitOutcome,
  type Core,
  type CoreOptions,
  createCore,
  type Draft,
  type Journal,
} from '@kim/producer/internal'
import type { Prng } from '../../kit/index.js'
import type { Machine } from '../machine.js'
import { outcomeOf } from '../outcome.js'
import { expect, Violation } from '../violation.js'
import type { Server } from './server.js'

/** A request on its way, or held by the server. */
interface UnderWay {
  readonly ask: Ask
  readonly sentMs: number
  /** When its answer is in; a held one moves it forward. */
  dueMs: number
  readonly answer: ReturnType<Server['answer']> | undefined
}

/** What a saboteur makes of a commit before it is appended, and of what the core learns about it. */
export interface Sabotage {
  readonly drafts?: (drafts: readonly Draft[]) => readonly Draft[]
  readonly outcome?: (outcome: CommitOutcome) => CommitOutcome
  /** True if the personas of the journal miss what an append with this outcome applied. */
  readonly misses?: (outcome: CommitOutcome) => boolean
}

const fullRetryMs = 1000

/** One life of a producer: production core and journal, driven as the service drives them. */
export class Producer {
  readonly core: Core
  readonly journal: Journal
  readonly #machine: Machine
  readonly #server: Server
  readonly #random: Prng
  readonly #sabotage: Sabotage
  readonly #waitMs: number
  #underWay: UnderWay[] = []
  #wakeAtMs = 0
  #retryAtMs = 0
  /** What the append under way applied, if that is held back. */
  #held: (() => void)[] | undefined
  isDead = false
  commits = 0

  constructor(
    journal: Journal,
    options: CoreOptions,
    world: {
      readonly machine: Machine
      readonly server: Server
      readonly random: Prng
      readonly sabotage: Sabotage
    },
  ) {
    this.journal = journal
    this.core = createCore(options, journal)
    this.#machine = world.machine
    this.#server = world.server
    this.#random = world.random
    this.#sabotage = world.sabotage
    this.#waitMs = options.waitSeconds * 1000
    if (world.sabotage.misses !== undefined) this.#holdBack(journal.state.personas)
  }

  /** From now on the personas take over what an append applied only when `#commitAll` says so. */
  #holdBack(personas: Journal['state']['personas']): void {
    const apply = personas.apply.bind(personas)
    personas.apply = (...applied) => {
      if (this.#held === undefined) apply(...applied)
      else this.#held.push(() => apply(...applied))
    }
  }

  get #now(): { readonly monoMs: number; readonly wallMs: number } {
    return { monoMs: this.#machine.clock.monoMs(), wallMs: this.#machine.clock.wallMs() }
  }

  /** Runs for a while; ends early if the process does. */
  run(ms: number): void {
    const untilMs = this.#now.monoMs + ms
    for (let turns = 0; !this.isDead; turns++) {
      expect(turns < 20_000, () => 'it turns and turns and never waits')
      // What reads the journal may find that it cannot.
      if (this.#guarded(() => this.#turn()) === 'died') return
      const nextMs = Math.min(this.#wakeAtMs, ...this.#underWay.map(({ dueMs }) => dueMs))
      const { monoMs } = this.#now
      if (Math.max(nextMs, monoMs) >= untilMs) {
        this.#machine.clock.advance(Math.max(0, untilMs - monoMs))
        return
      }
      this.#machine.clock.advance(Math.max(0, nextMs - monoMs))
    }
  }

  #turn(): void {
    const { monoMs } = this.#now
    const ripe = this.#underWay.filter(({ dueMs }) => dueMs <= monoMs)
    this.#underWay = this.#underWay.filter(({ dueMs }) => dueMs > monoMs)
    for (const { ask, sentMs, answer } of ripe) {
      const given = answer ?? this.#server.answer(ask, sentMs, monoMs)
      this.core.answered(
        { kind: ask.kind, id: ask.id, answer: { ...given, receivedMs: monoMs } } as Answered,
        this.#now,
      )
    }
    this.#commitAll()
    if (this.isDead) return
    const { asks, wakeAtMs } = this.core.next(this.#now)
    this.core.notes()
    for (const ask of asks) this.#send(ask)
    this.#wakeAtMs = Math.max(monoMs, Math.min(wakeAtMs ?? Number.POSITIVE_INFINITY, this.#retryMs))
    if (this.#random.chance(0.1)) this.journal.upkeep()
  }

  get #retryMs(): number {
    return this.#retryAtMs > this.#now.monoMs ? this.#retryAtMs : Number.POSITIVE_INFINITY
  }

  /** No walk goes below what is known or was taken over (KS-22, KS-35). */
  #expectFloor(ask: Ask): void {
    if (ask.kind !== 'page' || ask.query.beforeId === undefined || ask.query.unreadOnly === true) return
    const { persona, beforeId } = ask.query
    const { floor, seeded } = this.journal.state.get('persona', persona)?.payload ?? {}
    const watermark = this.core.status().personas.find(one => one.persona === persona)?.watermark
    const isTakenOver = watermark === 0 && floor === 0 && seeded !== undefined
    const bound = Number((isTakenOver ? seeded : floor) ?? 0)
    expect(
      beforeId > bound,
      () => `${persona} is asked for what lies below ${beforeId}, and ${bound} bounds it`,
    )
  }

  #send(ask: Ask): void {
    this.#expectFloor(ask)
    const random = this.#random
    const sentMs = this.#now.monoMs
    // A slow server answers late with what was true early, or the other way round.
    const tookMs =
      !this.#server.isPrompt && random.chance(0.04) ? random.between(1000, 20_000) : random.between(1, 60)
    const isEarly = random.chance(0.5)
    const isHeld = ask.kind === 'counts' && this.#waitMs > 0 && ask.query.cursor === this.#server.token
    const answer = isEarly && !isHeld ? this.#server.answer(ask, sentMs, sentMs) : undefined
    this.#underWay.push({ ask, sentMs, dueMs: sentMs + (isHeld ? this.#waitMs : tookMs), answer })
  }

  /** New mail releases what the server holds. */
  mailCame(): void {
    const { monoMs } = this.#now
    for (const held of this.#underWay)
      if (held.ask.kind === 'counts') held.dueMs = Math.min(held.dueMs, monoMs + 2)
  }

  #commitAll(): void {
    if (this.#retryAtMs > this.#now.monoMs) return
    for (let n = 0; ; n++) {
      expect(n < 1000, () => 'it commits and commits and is never done')
      const commit = this.core.commit(this.#now)
      if (commit === undefined) return
      expect(commit.drafts.length > 0, () => 'a commit of nothing')
      expect(
        this.core.commit(this.#now) === commit || this.core.commit(this.#now)?.drafts === commit.drafts,
        () => {
          return 'another commit before the outcome of the first was known'
        },
      )
      const sabotaged = this.#sabotage.drafts?.(commit.drafts) ?? commit.drafts
      this.#held = []
      const outcome = this.#guarded(() => void this.journal.append(sabotaged))
      const held = this.#held
      this.#held = undefined
      if (outcome !== 'died' && this.#sabotage.misses?.(outcome) !== true) for (const apply of held) apply()
      if (outcome === 'died') return
      this.commits++
      this.core.committed(this.#sabotage.outcome?.(outcome) ?? outcome, this.#now)
      if (outcome === 'full') {
        this.#retryAtMs = this.#now.monoMs + fullRetryMs
        return
      }
    }
  }

  #guarded(act: () => void): 'durable' | 'full' | 'moved' | 'died' {
    if (this.isDead) return 'died'
    try {
      act()
      if (!this.#machine.fs.dead && !this.isDead) return 'durable'
    } catch (error) {
      if (error instanceof Violation) throw error
      const outcome = this.#machine.fs.dead ? 'died' : outcomeOf(error)
      if (outcome === 'full') {
        expect(this.#machine.isFull, () => 'full on a disk with room')
        return 'full'
      }
      if (outcome === 'moved') return 'moved'
      expect(
        outcome === 'died' || this.#machine.isTroubled,
        () => `an append was ${outcome}: ${String(error)}`,
      )
      if (outcome !== 'died') this.#close()
    }
    this.isDead = true
    return 'died'
  }

  /** A process that failed ends, and lets go of what it held. */
  #close(): void {
    try {
      this.journal.close()
    } catch {
      // It was failing already.
    }
  }
}
