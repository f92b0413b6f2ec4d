import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storePaths } from '@kim/manifest'
import { verifyJournal } from '@kim/observer-sdk/verify'
import type { Switches } from '@kim/producer/internal'
import type { Prng } from '../kit/prng.js'
import { Child, type End } from './child.js'
import { Ledger } from './ledger.js'
import { sharedMs } from './protocol.js'

/** What a campaign did, for people. */
export interface Counts {
  kills: number
  /** Kills before the store was open, in the middle of a recovery. */
  killsInOpen: number
  reopened: number
  receipts: number
  records: number
  deduped: number
  /** Processes that were turned away with 75. */
  refused: number
  /** Processes that took over at once from one that was killed. */
  takeovers: number
  verified: number
  /** From a kill to the first receipt of a process that was started after it, in ms. */
  restartMs: number[]
}

export const noCounts = (): Counts => ({
  kills: 0,
  killsInOpen: 0,
  reopened: 0,
  receipts: 0,
  records: 0,
  deduped: 0,
  refused: 0,
  takeovers: 0,
  verified: 0,
  restartMs: [],
})

/** The stores of one run, one after the other, each killed many times. */
export interface CampaignPlan {
  readonly prng: Prng
  readonly kills: number
  /** A store that grows without end would make each look at it slower. */
  readonly killsPerStore: number
  readonly killsPerVerify: number
  readonly switches?: Switches
}

/** Kills writers until the plan is done, or until something is wrong: then says what. */
export async function runCampaign(plan: CampaignPlan, counts: Counts): Promise<string[]> {
  for (let done = 0; done < plan.kills; done += plan.killsPerStore) {
    const store = mkdtempSync(join(tmpdir(), 'kim-kills-'))
    const siege = new Siege(plan, counts, store)
    try {
      const problems = await siege.run(Math.min(plan.killsPerStore, plan.kills - done))
      if (problems.length > 0)
        return problems.map(problem => `store ${done / plan.killsPerStore}: ${problem}`)
    } finally {
      await siege.end()
      rmSync(store, { recursive: true, force: true })
    }
  }
  return []
}

/** What a refused process must have said, and who refused it. */
export function refusalProblems({ code, complaint }: End, store: string, holder: number): string[] {
  const problems: string[] = []
  if (code !== 75) problems.push(`a second process ended with ${code}, not with 75: ${complaint}`)
  if (!complaint.includes(`process ${holder}, which started 20`)) {
    problems.push(`a second process does not name ${holder} and its start: ${complaint}`)
  }
  if (!complaint.includes(store)) problems.push(`a second process does not name ${store}: ${complaint}`)
  return problems
}

/** One store and the processes that are killed over it. */
class Siege {
  readonly #plan: CampaignPlan
  readonly #prng: Prng
  readonly #counts: Counts
  readonly #store: string
  readonly #ledger = new Ledger()
  readonly #problems: string[] = []
  readonly #children: Child[] = []
  #life = 0

  constructor(plan: CampaignPlan, counts: Counts, store: string) {
    this.#plan = plan
    this.#prng = plan.prng
    this.#counts = counts
    this.#store = store
  }

  async run(kills: number): Promise<string[]> {
    let child = this.#start()
    for (let n = 1; n <= kills && this.#problems.length === 0; n++) {
      await this.#waitForMoment(child)
      if (n === kills) await this.#kill(child)
      else child = await this.#succeed(child, n % this.#plan.killsPerVerify === 0)
    }
    if (this.#problems.length === 0) {
      await this.#finish()
      await this.#judge()
    }
    this.#counts.receipts += this.#ledger.receipts
    this.#counts.records += this.#ledger.records
    this.#counts.deduped += this.#ledger.deduped
    return this.#problems
  }

  #start(standby = false): Child {
    const { switches = {} } = this.#plan
    const life = ++this.#life
    const retry = this.#ledger.retry()
    const seed = this.#prng.u32()
    const orders = { store: this.#store, life, seed, retry, standby, switches }
    const child = new Child(orders, this.#ledger)
    this.#children.push(child)
    return child
  }

  /** Whatever came of it, no process of this siege goes on. */
  async end(): Promise<void> {
    for (const child of this.#children) if (!child.isOver) child.signal('SIGKILL')
    await Promise.all(this.#children.map(child => child.end))
  }

  /** Some die while they recover, most while they append. */
  async #waitForMoment(child: Child): Promise<void> {
    const inOpen = this.#prng.chance(0.2)
    const receipts = this.#prng.pick([1, 1, 2, 4, 8, 16, 32])
    const moreMs = this.#prng.int(inOpen ? 25 : 12)
    await child.until(() => (inOpen ? child.isReady : child.receipts >= receipts))
    if (moreMs > 0) await sleep(moreMs)
  }

  async #kill(child: Child): Promise<void> {
    const wasOpen = child.isOpen
    child.signal('SIGKILL')
    const { signal, code, complaint } = await child.end
    if (signal !== 'SIGKILL') this.#problems.push(`a writer ended by itself with ${code}: ${complaint}`)
    this.#counts.kills++
    if (!wasOpen) this.#counts.killsInOpen++
    else this.#counts.reopened++
  }

  async #succeed(child: Child, isJudged: boolean): Promise<Child> {
    const how = this.#prng.weighted({ restart: 50, standby: 30, rivals: 20 })
    if (isJudged) {
      await this.#kill(child)
      await this.#judge()
      return this.#start()
    }
    if (how === 'standby') return this.#takeOver(child)
    if (how === 'rivals') return this.#race(child)
    return this.#restart(child)
  }

  async #restart(child: Child): Promise<Child> {
    const killedAt = sharedMs()
    await this.#kill(child)
    const next = this.#start()
    void next
      .until(() => next.firstReceiptAt !== undefined)
      .then(() => {
        if (next.firstReceiptAt !== undefined) this.#counts.restartMs.push(next.firstReceiptAt - killedAt)
      })
    return next
  }

  /** One is ready to open while the other dies: it is turned away, or it has the store at once. */
  async #takeOver(child: Child): Promise<Child> {
    const leadMs = this.#prng.int(4)
    const isEarly = this.#prng.chance(0.5)
    await child.until(() => child.isOpen)
    const next = this.#start(true)
    await next.until(() => next.isReady)
    if (isEarly) {
      next.tell('open')
      if (leadMs > 0) await sleep(leadMs)
      await this.#kill(child)
    } else {
      await this.#kill(child)
      next.tell('open')
    }
    await next.until(() => next.isOpen)
    if (!next.isOver) {
      this.#counts.takeovers++
      return next
    }
    this.#refused(await next.end, child)
    if (!isEarly) this.#problems.push('the store was still held after the death of its holder')
    return this.#start()
  }

  /** Two want the store of one that died: one has it, the other is turned away. */
  async #race(child: Child): Promise<Child> {
    await this.#kill(child)
    const [one, other] = [this.#start(), this.#start()]
    const isDecided = (): boolean => one.isOver || other.isOver
    await Promise.race([one.until(isDecided), other.until(isDecided)])
    const [winner, loser] = one.isOver ? [other, one] : [one, other]
    await winner.until(() => winner.isOpen)
    if (winner.isOver) this.#problems.push(`no process has the store: ${(await winner.end).complaint}`)
    this.#refused(await loser.end, winner)
    return winner
  }

  #refused(end: End, holder: Child): void {
    this.#counts.refused++
    this.#problems.push(...refusalProblems(end, this.#store, holder.pid))
  }

  /** The last one answers every retry and leaves in peace. */
  async #finish(): Promise<void> {
    const last = this.#start()
    await last.until(() => last.receipts > 20)
    last.tell('stop')
    const { code, complaint } = await last.end
    if (code !== 0) this.#problems.push(`the last writer ended with ${code}: ${complaint}`)
    this.#counts.reopened++
  }

  async #judge(): Promise<void> {
    const eventsDir = storePaths(this.#store).events
    const { exit, findings } = await verifyJournal({ eventsDir })
    if (exit !== 0) this.#problems.push(`verify exits ${exit}: ${JSON.stringify(findings).slice(0, 2000)}`)
    this.#problems.push(...this.#ledger.audit(eventsDir).slice(0, 20))
    this.#counts.verified++
  }
}
