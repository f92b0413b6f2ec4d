import { type CoreOptions, type Host, type Journal, openJournal } from '@kim/producer/internal'
import { Prng } from '../../kit/index.js'
import { Producer } from '../hive/producer.js'
import { Server, type ServerKind } from '../hive/server.js'
import { Machine } from '../machine.js'
import { storeDir } from '../store-dir.js'
import { Tally } from '../tally.js'
import { expect } from '../violation.js'

/** What a test may spoil; each is the server's or the schedule's, and must show as mail that is late. */
export interface Spoilt {
  /** The server, whatever the seed says. */
  readonly kind?: ServerKind
  /** The core polls so many times as rarely as the operator asked for. */
  readonly slowness?: number
}

const kinds: readonly ServerKind[] = [
  { dialect: 'local', token: 'none' },
  { dialect: 'local', token: 'moves' },
  { dialect: 'hosted', token: 'none' },
  { dialect: 'hosted', token: 'moves' },
]

const names = ['argus', 'river', 'loom', 'ann', 'bob'] as const

/** The time of the requests, which the promise of KS-55 leaves out: the simulated server answers each within 60 ms. */
const requestsMs = 1000

const storyLines = 60

/** When a message came in, and when it was read, in ms of the monotonic clock. */
interface Arrival {
  readonly id: number
  readonly to: string
  readonly atMs: number
  readMs: number
}

/**
 * One seed: mail comes in and is read at random instants, on a server that answers. The producer knows counts and
 * pages only. No unread message may be later than KS-55 says, and inboxes without unread mail cost nothing but resyncs.
 */
export class LatenessSimulation {
  readonly tally: Tally = new Tally()
  readonly #random: Prng
  readonly #machine: Machine
  readonly #server: Server
  readonly #kind: ServerKind
  readonly #pollMs: number
  readonly #resyncMs: number
  readonly #options: CoreOptions
  readonly #startMs: number
  readonly #missing: Set<Arrival> = new Set()
  readonly #arrivals: Arrival[] = []

  constructor(seed: number, { kind, slowness = 1 }: Spoilt = {}) {
    const random = new Prng(seed)
    this.#random = random
    this.#machine = new Machine(random, this.tally)
    this.#startMs = this.#nowMs
    this.#kind = kind ?? random.pick(kinds)
    this.#server = new Server(random, names.slice(0, random.between(1, names.length)), false, this.#kind)
    this.#server.isPrompt = true
    const pollSeconds = random.pick([1, 2, 5, 20, 60])
    const resyncEvery = random.between(5, 10)
    this.#pollMs = pollSeconds * 1000
    this.#resyncMs = (resyncEvery + 1) * this.#pollMs
    this.#options = {
      dialect: this.#kind.dialect,
      personas: this.#server.personas,
      waitSeconds: random.pick([0, 50]),
      pollSeconds: pollSeconds * slowness,
      alertAfter: 3,
      resyncEvery,
      rediscoverSeconds: 600,
      seedAt: undefined,
      maxReplay: 50,
      keepContent: true,
      suppressedAuthors: [],
      fastPath: true,
      strandedAlerts: true,
      urgentAlerts: true,
      urgentAfterMs: 0,
    }
  }

  /** The last operations, newest last. */
  get story(): string {
    return this.#machine.log.slice(-storyLines).join('\n')
  }

  get #nowMs(): number {
    return this.#machine.clock.monoMs()
  }

  run(): Promise<void> {
    const { fs, clock, lock } = this.#machine
    const host: Host = { pid: 100, uid: fs.uid, startKey: 'sim:100', node: 'v20.0.0', platform: 'linux-x64' }
    const random = new Prng(this.#random.int(1_000_000))
    const source = 'http://localhost:7474'
    const journal = openJournal({ storeDir, source, fs, clock, lock, host, random })
    const world = { machine: this.#machine, server: this.#server, random: this.#random, sabotage: {} }
    const producer = new Producer(journal, this.#options, world)
    const { token, dialect } = this.#kind
    this.#note(`${dialect}, token ${token}, every ${this.#pollMs} ms, wait ${this.#options.waitSeconds} s`)
    const untilMs = this.#nowMs + 2 * this.#resyncMs
    for (let nextMs = this.#nextMs(); this.#nowMs < untilMs; nextMs = this.#nextMs()) {
      this.#pass(producer, nextMs)
      this.#happen(producer)
    }
    this.#end(producer)
    journal.close()
    return Promise.resolve()
  }

  /** Often several in one interval, sometimes none in many. */
  #nextMs(): number {
    const random = this.#random
    return random.chance(0.1) ? random.int(6 * this.#pollMs) : random.int(this.#pollMs)
  }

  /** Time passes in steps of a part of an interval; after each, nothing may be late. */
  #pass(producer: Producer, ms: number): void {
    const untilMs = this.#nowMs + ms
    while (this.#nowMs < untilMs) {
      producer.run(Math.min(this.#pollMs / 5, untilMs - this.#nowMs))
      this.#judge(producer)
    }
  }

  #happen(producer: Producer): void {
    const { personas } = this.#server
    const to = this.#random.pick(personas)
    const what = this.#random.weighted({ mail: 3, read: 2, swap: 3 })
    this.tally.count(what)
    if (what === 'mail') this.#mail(to, this.#random.between(1, 3))
    else {
      const read = this.#read(to, what === 'swap')
      // As many come as were read, in the same instant: no count shows it.
      if (what === 'swap') this.#mail(to, read)
    }
    producer.mailCame()
  }

  #mail(to: string, count: number): void {
    for (let n = 0; n < count; n++) {
      this.#server.send(to, 'somebody')
      const mail = this.#server.mail.at(-1)
      if (mail === undefined) continue
      mail.read = false
      const arrival = { id: mail.id, to, atMs: this.#nowMs, readMs: Number.POSITIVE_INFINITY }
      this.#arrivals.push(arrival)
      this.#missing.add(arrival)
      this.#note(`${to}/${mail.id} comes`)
    }
  }

  /** A reader reads some of its mail, or all of it; says how many. */
  #read(persona: string, isAll: boolean): number {
    const share = isAll ? 1 : this.#random.pick([0.3, 1])
    let count = 0
    for (const mail of this.#server.mail) {
      if (mail.to !== persona || mail.read || !this.#random.chance(share)) continue
      mail.read = true
      count++
      const arrival = this.#arrivals.find(({ id }) => id === mail.id)
      if (arrival !== undefined) arrival.readMs = this.#nowMs
    }
    if (count > 0) this.#note(`${persona} reads ${count}`)
    return count
  }

  /**
   * Mail that came before the first contact and lies below its page is never fetched (KS-22, KS-30). A first contact
   * takes no longer than its requests.
   */
  #isPassedOver({ state }: Journal, { id, to, atMs }: Arrival): boolean {
    const floor = Number(state.get('persona', to)?.payload?.['floor'] ?? 0)
    return id < floor && atMs <= this.#startMs + requestsMs
  }

  /** KS-55: an unread message is there after two intervals, any message after the resync. */
  #judge({ journal }: Producer): void {
    const nowMs = this.#nowMs
    for (const arrival of this.#missing) {
      const { id, to, atMs, readMs } = arrival
      if (journal.state.has('message', `${to}/${id}`)) {
        this.#missing.delete(arrival)
        this.tally.count(readMs <= nowMs ? 'in after it was read' : 'in while unread')
        continue
      }
      if (this.#isPassedOver(journal, arrival)) {
        this.#missing.delete(arrival)
        this.tally.count('passed over at first contact')
        continue
      }
      const unreadMs = Math.min(readMs, nowMs) - atMs
      expect(
        unreadMs <= 2 * this.#pollMs + requestsMs,
        () => `${to}/${id} is unread for ${unreadMs} ms and not in`,
      )
      const ageMs = nowMs - atMs
      expect(ageMs <= this.#resyncMs + requestsMs, () => `${to}/${id} is not in after ${ageMs} ms`)
    }
  }

  /** All mail is read: everything comes in, and then each inbox is polled for its resync alone. */
  #end(producer: Producer): void {
    for (const persona of this.#server.personas) this.#read(persona, true)
    producer.mailCame()
    // A held answer of counts says only after its hold that nothing is unread any more.
    this.#pass(producer, this.#resyncMs + 2 * this.#pollMs + this.#options.waitSeconds * 1000)
    expect(this.#missing.size === 0, () => `${this.#missing.size} messages are not in`)
    const before = this.#polls(producer)
    producer.run(this.#resyncMs)
    const polls = this.#polls(producer) - before
    const most = 2 * this.#server.personas.length
    expect(polls <= most, () => `${polls} polls of inboxes without unread mail within one resync`)
    this.tally.add('polls while nothing is unread', polls)
    this.tally.add('mail', this.#arrivals.length)
  }

  #polls({ core }: Producer): number {
    return core.status().polls
  }

  #note(what: string): void {
    this.#machine.note(`${this.#nowMs} ms: ${what}`)
  }
}
