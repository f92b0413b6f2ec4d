import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Letter, Message, RequestLogEntry, Settings } from '@kim/example-kijito-sim'
import type { ReadRecord } from '@kim/manifest'
import type { Test } from 'tap'
import { homeOf } from '../home.js'
import { JournalFollower } from './journal-follower.js'
import { type Inboxes, objectionsTo } from './judge.js'
import type { Preload } from './preloads.js'
import { ProducerProcess, readPipes } from './producer-process.js'
import { readRecords } from './records.js'
import { SimulatorProcess } from './simulator-process.js'

/** How long anything may take before a trial gives up: far more than it does on a busy machine. */
const PATIENCE_MS = Number(process.env['KIM_PATIENCE_MS'] ?? 180_000)
const LOOK_MS = 50

/** What a trial is made of. */
export interface TrialOptions {
  readonly personas: readonly string[]
  readonly settings?: Partial<Settings>
  /** Of every producer, besides where the server and the store are. */
  readonly flags: readonly string[]
  /** Where everything is; by default a directory of the test's own. */
  readonly home?: string
  /** Where the store is; by default there. */
  readonly store?: string
  /** Run by every producer's Node first. */
  readonly preload?: Preload
  readonly env?: Readonly<Record<string, string>>
}

/**
 * A server and the built producer, each a process of its own, through something that goes wrong; and at its end what
 * must hold whatever it was.
 */
export class Trial {
  readonly home: string
  readonly store: string
  readonly personas: readonly string[]
  simulator: SimulatorProcess
  readonly producers: ProducerProcess[] = []
  readonly #t: Test
  readonly #options: TrialOptions
  readonly #follower: JournalFollower
  readonly #sent = new Map<string, Letter & { readonly id: number }>()
  readonly #missing = new Set<string>()
  readonly #events: ReadRecord[] = []
  #url = ''

  private constructor(t: Test, options: TrialOptions) {
    this.#t = t
    this.#options = options
    this.home = options.home ?? homeOf(t)
    this.store = options.store ?? join(this.home, 'store')
    this.personas = options.personas
    this.#follower = new JournalFollower(this.store)
    this.simulator = this.#simulate(0)
  }

  static async open(t: Test, options: TrialOptions): Promise<Trial> {
    const trial = new Trial(t, options)
    mkdirSync(trial.home, { recursive: true })
    trial.#url = await trial.simulator.url
    await trial.#settle()
    return trial
  }

  #simulate(port: number): SimulatorProcess {
    const simulator = new SimulatorProcess(['--dialect', 'hosted', '--port', String(port)])
    this.#t.teardown(() => simulator.close())
    return simulator
  }

  async #settle(): Promise<void> {
    const { settings } = this.#options
    if (settings !== undefined) await this.simulator.tell({ do: 'set', settings })
    for (const persona of this.personas) await this.simulator.tell({ do: 'persona', persona })
  }

  /** Ends the server's process without a word; another one on its port has the same account. */
  async restartServer(downMs: number): Promise<void> {
    await this.simulator.kill()
    await sleep(downMs)
    this.simulator = this.#simulate(Number(new URL(this.#url).port))
    await this.simulator.url
    // Nobody is to see an account that is half there.
    await this.simulator.tell({ do: 'refuse' })
    await this.#settle()
    for (const { id, ...letter } of this.#sent.values()) {
      await this.simulator.tell({ do: 'send', ...letter, message_id: id })
    }
    await this.simulator.tell({ do: 'open' })
  }

  /** Starts a producer. */
  start(...flags: readonly string[]): ProducerProcess {
    const { env = { KIM_TOKEN: 'tok' }, preload = [] } = this.#options
    const where = ['--url', this.#url, '--allow-loopback', '--dialect', 'hosted', '--store', this.store]
    const args = ['run', ...where, '--no-gc', ...this.#options.flags, ...flags]
    const producer = new ProducerProcess(this.home, args, env, preload)
    this.#t.teardown(() => producer.stop())
    this.producers.push(producer)
    return producer
  }

  /** Mail comes in. */
  async send(to: string, count = 1): Promise<void> {
    const letter = { to, from: `author of ${to}`, content: `to ${to}, ${this.#sent.size} letters later` }
    const ids = (await this.simulator.tell({ do: 'send', ...letter, count })) as number[]
    for (const id of ids) {
      this.#sent.set(`${to}/${id}`, { ...letter, id })
      this.#missing.add(`${to}/${id}`)
    }
  }

  get sent(): number {
    return this.#sent.size
  }

  /** How many messages that were sent since the first producer met everybody are not in yet. */
  get missing(): number {
    this.#look()
    return this.#missing.size
  }

  /** Everything in the journal but messages, in order. */
  get events(): readonly ReadRecord[] {
    this.#look()
    return this.#events
  }

  /** How often something was announced or ended: of alerts by kind, of personas by event. */
  told(event: string, kind?: string): number {
    return this.events.filter(
      record => record.event === event && (kind === undefined || record.payload?.['kind'] === kind),
    ).length
  }

  #look(): void {
    for (const record of this.#follower.news()) {
      if (record.item_type !== 'message') this.#events.push(record)
      else if (record.item_id !== undefined) this.#missing.delete(record.item_id)
    }
  }

  /** Waits until something holds; a newest producer that ended meanwhile, or no patience left, is an error. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!holds()) {
      const last = this.producers.at(-1)
      if (last?.code !== undefined) throw new Error(`${what}: it ended with ${last.code}: ${last.stderr}`)
      if (performance.now() > deadline) {
        throw new Error(`${what}: waited in vain, ${this.missing} missing\n${last?.stderr.slice(-2000)}`)
      }
      await sleep(LOOK_MS)
    }
    await readPipes()
  }

  /** Waits until every persona was met: what comes from then on must not be missed. */
  async met(): Promise<void> {
    await this.until('a genesis', () => this.events.some(({ item_id }) => item_id === 'registry_genesis'))
    // What stood before may be older than any window.
    this.#missing.clear()
  }

  /** Waits until everything that was sent is in. */
  async caughtUp(): Promise<void> {
    await this.until('everything is in', () => this.missing === 0)
  }

  /** What the server has. */
  async inboxes(): Promise<Inboxes> {
    const inboxes = new Map<string, readonly Message[]>()
    for (const persona of this.personas) {
      inboxes.set(persona, (await this.simulator.tell({ do: 'inbox', persona })) as Message[])
    }
    return inboxes
  }

  /** The end: the last producer stops, and everything that was promised is looked at. */
  async judge(): Promise<void> {
    const t = this.#t
    const last = this.producers.at(-1)
    await this.caughtUp()
    // A signal that comes before Node itself is up ends it as it ends any process.
    await this.until('it is up', () => last?.stderr.includes('"started"') === true)
    t.equal(await last?.stop(), 0, 'it stops with 0')
    const inboxes = await this.inboxes()
    const records = readRecords(this.store)
    const messages = [...inboxes.values()].reduce((sum, inbox) => sum + inbox.length, 0)
    t.same(objectionsTo(records, inboxes), [], `the journal holds each of ${messages} messages once, as sent`)
    const asked = (await this.simulator.tell({ do: 'log' })) as RequestLogEntry[]
    const marking = asked.filter(
      ({ method, endpoint, query }) =>
        method !== 'GET' || (endpoint === 'inbox' && query['mark_read'] !== 'false'),
    )
    t.same(marking, [], 'nothing that was asked can have marked anything')
    const verify = new ProducerProcess(this.home, ['journal', 'verify', '--store', this.store, '--json'])
    t.equal(await verify.ended, 0, `journal verify: ${verify.stdout}`)
    t.comment(`${messages} messages, ${records.length} records, ${this.producers.length} lives`)
  }
}
