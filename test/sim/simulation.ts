import { type Host, type Journal, openJournal, type Receipt, type Switches } from '@kim/producer/internal'
import { objections, Prng, type Scratch, SimDeath, type SimFs } from '../kit/index.js'
import { Callers } from './callers.js'
import { Drafts } from './drafts.js'
import { describe, type Flight } from './flight.js'
import { Machine } from './machine.js'
import { operations } from './operations.js'
import { Oracle } from './oracle.js'
import { type OutcomeName, outcomeOf } from './outcome.js'
import { eventsDir, storeDir } from './store-dir.js'
import { Tally } from './tally.js'
import { expect, Violation } from './violation.js'
import { Witness } from './witness.js'

const opsShown = 40

/**
 * One seed: production code over a simulated disk, clock and lock, its callers, and everything that goes wrong
 * around it. What it may come to is the oracle's; this decides what happens.
 */
export class Simulation {
  readonly tally: Tally = new Tally()
  readonly #random: Prng
  readonly #machine: Machine
  readonly #seed: number
  readonly #switches: Switches
  readonly #options: {
    readonly segmentBytes: number
    readonly retainRead: number
    readonly gzip: boolean
    readonly gc: boolean
  }
  readonly #oracle: Oracle
  readonly #callers: Callers
  readonly #witness: Witness
  #journal: Journal | undefined
  #turns: (() => void)[] = []
  #pids = 100

  constructor(seed: number, switches: Switches = {}) {
    this.#seed = seed
    this.#random = new Prng(seed)
    this.#machine = new Machine(this.#random, this.tally)
    this.#switches = switches
    this.#options = {
      segmentBytes: this.#random.pick([1500, 3000, 6000, 12_000]),
      retainRead: this.#random.between(1, 4),
      gzip: this.#random.chance(0.15),
      gc: this.#random.chance(0.85),
    }
    this.#oracle = new Oracle(this.#options.retainRead)
    this.#witness = new Witness(this.#oracle, this.#machine)
    this.#callers = new Callers(this.#random, new Drafts(this.#random, this.#oracle))
  }

  /** The last operations, newest last. */
  get story(): string {
    return this.#machine.log.slice(-opsShown).join('\n')
  }

  /** Everything that can happen, in any order, and then the end. Throws a Violation. */
  async run(scratch: Scratch): Promise<void> {
    try {
      for (let left = this.#random.between(15, 60); left > 0; left--) await this.#step()
      await this.#end(scratch)
    } catch (error) {
      if (error instanceof Violation) throw error
      // What nobody foresaw is what the code under test threw at a caller.
      throw new Violation(`threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }

  async #step(): Promise<void> {
    this.#machine.clock.advance(this.#random.int(400))
    if (this.#journal === undefined) {
      this.#open()
      return
    }
    // Most of a life on a full disk is the same refusal again and again.
    if (this.#machine.isFull && this.#random.chance(0.12)) this.#machine.full()
    const operation = this.#random.weighted(operations)
    this.tally.count(operation)
    await this.#do(operation, this.#journal)
    this.#witness.see(this.#journal)
    this.#witness.observe(this.#journal)
  }

  async #do(operation: keyof typeof operations, journal: Journal): Promise<void> {
    const random = this.#random
    switch (operation) {
      case 'append':
        return this.#append(this.#flight(1, false))
      case 'batch':
        return this.#append(this.#flight(random.between(2, 6), false))
      case 'tx':
        return this.#append(this.#flight(random.between(1, 5), true))
      case 'submit':
        return await this.#submit(this.#callers.few(journal.isSettled, this.#machine.latestWallMs))
      case 'flood':
        if (!this.#machine.isFull && random.chance(0.6)) this.#machine.fill(random.int(1_500_000))
        return await this.#submit(this.#callers.flood(journal.isSettled, this.#machine.latestWallMs))
      case 'again':
        return await this.#submit(this.#callers.again(this.#machine.latestWallMs, journal.state))
      case 'squeeze':
        return await this.#squeeze(journal)
      case 'roll':
        return this.#attempt('roll', () => journal.roll())
      case 'upkeep':
        return this.#attempt('upkeep', () => void journal.upkeep())
      case 'checkpoint':
        return this.#attempt('checkpoint', () => journal.checkpoint())
      case 'gc':
        return this.#attempt('gc', () => void journal.gc())
      case 'settle':
        return this.#attempt('settle', () => {
          if (journal.settle().length > 0) this.#callers.forget()
        })
      case 'look':
        return this.#look(journal)
      case 'reopen':
        return this.#reopen(journal)
      case 'crash':
        return this.#die('crash between two calls')
      case 'doom':
        return this.#machine.doom()
      case 'trouble':
        return this.#machine.trouble()
      case 'full':
        return this.#machine.full()
      case 'time':
        return this.#machine.passTime()
      case 'rival':
        return this.#rival()
      case 'intruder':
        return this.#intruder(journal)
    }
  }

  // What callers do.

  #flight(records: number, tx: boolean, keyed = this.#journal?.isSettled === true): Flight {
    return this.#callers.one(records, tx, keyed, this.#machine.latestWallMs)
  }

  #append(flight: Flight): void {
    const journal = this.#journal as Journal
    this.#oracle.ask(flight)
    this.#attempt(
      `append ${describe(flight)}`,
      () => this.#acknowledge(flight, journal.append(flight.drafts, { tx: flight.tx })),
      flight,
    )
  }

  /** An append that nothing can keep from being acknowledged. */
  #appendSurely(records: number, tx: boolean): void {
    const flight = this.#flight(records, tx, false)
    this.#append(flight)
    expect(flight.fate === 'acknowledged', () => `nothing is wrong, and ${describe(flight)} is not appended`)
    this.#witness.observe(this.#journal)
  }

  #acknowledge(flight: Flight, receipt: Receipt): void {
    // A dead process tells nobody.
    if (this.#fs.dead) return
    flight.fate = 'acknowledged'
    flight.receipt = receipt
    this.#callers.gotReceipt(flight)
  }

  async #submit(flights: readonly Flight[]): Promise<void> {
    const journal = this.#journal as Journal
    const waiting = flights.map(flight => {
      this.#oracle.ask(flight)
      return journal.submit(flight.drafts, { tx: flight.tx })
    })
    for (const run of this.#turns.splice(0)) run()
    let failed: unknown
    for (const [i, result] of (await Promise.allSettled(waiting)).entries()) {
      const flight = flights[i] as Flight
      if (result.status === 'fulfilled') this.#acknowledge(flight, result.value)
      else if (this.#fs.dead || !this.#isTurnedAway(flight, outcomeOf(result.reason))) {
        failed = result.reason
        if (!this.#fs.dead) this.#callers.wereRefused(flight, outcomeOf(failed))
      }
    }
    this.#attempt(`submit ${flights.map(describe).join(' | ')}`, () => {
      if (failed !== undefined) throw failed
    })
  }

  /** A disk is full for one turn, then something is done, and then what was refused is asked for again. */
  async #squeeze(journal: Journal): Promise<void> {
    if (this.#machine.isFull) return
    const { latestWallMs } = this.#machine
    this.#machine.fill(this.#random.int(2500))
    await this.#submit(this.#callers.few(false, latestWallMs))
    if (this.#machine.isFull) this.#machine.full()
    const between = this.#random.pick(['roll', 'checkpoint', 'append', 'again', 'upkeep'] as const)
    if (this.#journal === journal) await this.#do(between, journal)
    if (this.#journal === journal) await this.#submit(this.#callers.again(latestWallMs, journal.state))
  }

  /** True where nothing of the batch was appended, and the journal goes on. */
  #isTurnedAway(flight: Flight, outcome: OutcomeName): boolean {
    if (outcome !== 'refused' && outcome !== 'moved') return false
    flight.fate = outcome
    if (outcome === 'moved') this.#callers.forget()
    this.tally.count(`→ ${outcome}`)
    return true
  }

  /** Runs an operation and takes its outcome for what it is to a caller. */
  #attempt(what: string, act: () => void, flight?: Flight): void {
    try {
      act()
      // What it answered after its death, nobody heard.
      if (this.#fs.dead) throw new SimDeath('dead')
      this.#note(`${what}: ok${flight?.receipt === undefined ? '' : ` ${flight.receipt.seqs.join(' ')}`}`)
    } catch (error) {
      if (error instanceof Violation) throw error
      const outcome = this.#fs.dead ? 'died' : outcomeOf(error)
      this.#note(`${what}: ${outcome}`)
      if (outcome !== 'died' && flight !== undefined && this.#isTurnedAway(flight, outcome)) return
      this.tally.count(`→ ${outcome}`)
      if (outcome !== 'died' && flight !== undefined) this.#callers.wereRefused(flight, outcome)
      if (outcome === 'full') {
        expect(this.#machine.isFull, () => `${what}: full on a disk with room`)
        return
      }
      if (outcome === 'died') {
        this.#die()
        return
      }
      expect(this.#machine.isTroubled, () => `${what}: failed though nothing went wrong: ${String(error)}`)
      const journal = this.#journal
      if (journal === undefined) return
      this.#witness.see(this.#journal)
      expect(journal.failure !== undefined, () => `${what}: ${String(error)}, and the journal goes on`)
      this.#note('the process ends')
      journal.close()
      this.#die()
    }
  }

  // What goes wrong.

  get #fs(): SimFs {
    return this.#machine.fs
  }

  /** The process is dead. */
  #die(why?: string): void {
    if (why !== undefined) this.#note(why)
    this.#machine.die()
    this.#journal = undefined
    this.#callers.forget()
    this.#turns = []
  }

  /** A second process wants the store. */
  #rival(): void {
    const fs = this.#fs.restart()
    try {
      this.#openOn(fs)
    } catch (error) {
      this.#note('a rival is turned away')
      expect(outcomeOf(error) === 'held', () => `a rival was told ${String(error)}`)
      return
    }
    throw new Violation('two processes hold the store')
  }

  /** Somebody who heeds no lock writes to the segment. */
  #intruder(journal: Journal): void {
    if (!journal.isSettled || this.#machine.isFull) return
    this.#machine.intrude(`${eventsDir}/${this.#witness.text.newest(this.#fs)}`)
    if (this.#random.chance(0.3)) this.#attempt('roll', () => journal.roll())
    else this.#append(this.#flight(1, false, false))
  }

  #openOn(fs: SimFs): Journal {
    const pid = ++this.#pids
    const host: Host = { pid, uid: fs.uid, startKey: `sim:${pid}`, node: 'v20.0.0', platform: 'linux-x64' }
    return openJournal({
      ...this.#options,
      storeDir,
      source: 'http://localhost:7474',
      fs,
      clock: this.#machine.clock,
      lock: this.#machine.lock,
      host,
      random: new Prng(this.#seed * 100_003 + pid),
      turn: { soon: run => void this.#turns.push(run) },
      switches: this.#switches,
      log: ({ code }) => this.#note(`(${code})`),
    })
  }

  #open(): void {
    if (this.#random.chance(0.12)) this.#machine.doom()
    else if (this.#random.chance(0.06)) this.#machine.trouble()
    this.#openNow()
  }

  #openNow(): void {
    const isNew = this.#witness.text.newest(this.#fs) === undefined
    this.tally.count('open')
    try {
      const journal = this.#openOn(this.#fs)
      if (this.#fs.dead) throw new SimDeath('dead')
      this.#journal = journal
      this.#note(`open${journal.isSettled ? '' : ', not settled'}`)
    } catch (error) {
      const outcome = this.#fs.dead ? 'died' : outcomeOf(error)
      this.#note(`open: ${outcome}`)
      this.tally.count(`→ open ${outcome}`)
      // Only a store that is not there yet needs room to be opened.
      const isFull = outcome === 'full' && isNew && this.#machine.isFull
      expect(outcome === 'died' || isFull || this.#machine.isTroubled, () => `open: ${String(error)}`)
      if (isFull && this.#random.chance(0.5)) this.#machine.full()
      this.#die()
    }
    this.#witness.observe(this.#journal)
  }

  #reopen(journal: Journal): void {
    try {
      journal.close()
    } catch (error) {
      if (!this.#fs.dead && !this.#machine.isTroubled) throw error
    }
    this.#note('close')
    this.#callers.forget()
    if (this.#fs.dead) {
      this.#die()
      return
    }
    const left = this.#fs.openDescriptors
    expect(left.length === 0 || this.#machine.isTroubled, () => `left open: ${left.join(' ')}`)
    this.#journal = undefined
    expect(this.#fs.misuse.length === 0, () => this.#fs.misuse.join('; '))
  }

  #look(journal: Journal): void {
    this.#note('look')
    if (!this.#witness.look(journal)) this.#die()
  }

  /** Nothing goes wrong any more: everything that is owed gets done, and what was promised is there. */
  async #end(scratch: Scratch): Promise<void> {
    this.#note('no more faults')
    if (this.#random.chance(0.5)) this.#die()
    this.#machine.calm()
    let journal = this.#live()
    this.#machine.clock.advance(120_000)
    journal.settle()
    expect(journal.isSettled, () => 'space returned, and something is still owed')
    this.#witness.observe(this.#journal)
    for (let slices = 0; journal.upkeep(); slices++) expect(slices < 10_000, () => 'upkeep never ends')
    this.#appendSurely(2, false)
    journal.checkpoint()
    const number = this.#witness.text.newestNumber(this.#fs)
    const sealed = this.#witness.text.read(this.#fs).findLast(({ seq }) => seq < number)?.seq
    expect(
      journal.checkpointSeq === sealed,
      () => `a checkpoint of ${journal.checkpointSeq}, sealed is ${sealed}`,
    )
    this.#appendSurely(3, true)
    this.#look(journal)

    this.#machine.loseAll()
    this.#journal = undefined
    journal = this.#live()
    this.#look(journal)
    this.#appendSurely(1, false)
    this.#reopen(journal)
    this.#witness.text.forget()
    this.#look(this.#live())
    const said = await objections(scratch.show(this.#fs, eventsDir))
    expect(said.length === 0, () => said.join('; '))
    this.tally.add('records', this.#oracle.records)
    this.tally.add('batches cut', this.#oracle.cut)
    this.tally.add('deduplicated', this.#oracle.deduped)
    this.tally.add('retired', this.#oracle.retired)
  }

  /** The open journal, opened if it is not. */
  #live(): Journal {
    if (this.#journal === undefined) this.#openNow()
    expect(this.#journal !== undefined, () => 'nothing is wrong, and the journal does not open')
    return this.#journal as unknown as Journal
  }

  #note(what: string): void {
    this.#machine.note(what)
  }
}
