import {
  type Draft,
  type Host,
  type Journal,
  type JournalOptions,
  openJournal,
  type Receipt,
} from '@kim/producer/internal'
import { Prng } from './prng.js'
import { type Asked, Promises } from './promises.js'
import { SimClock } from './sim-clock.js'
import { SimFs } from './sim-fs.js'
import { SimLock } from './sim-lock.js'

/** Where the simulated store stands. */
export const storeDir = '/kim/store'
export const eventsDir = `${storeDir}/events`

/** What a test may set of the journal's options. */
export type SiteOptions = Pick<JournalOptions, 'segmentBytes' | 'gc' | 'gzip' | 'retainRead' | 'switches'>

/** One store on one simulated machine, with everything a writer needs and everything it was asked. */
export class Site {
  readonly options: SiteOptions
  fs: SimFs
  readonly clock: SimClock
  readonly seed: number
  readonly lock: SimLock
  promises: Promises
  #marks: number
  #pids: number

  constructor(options: SiteOptions = {}, seed = 1) {
    this.options = options
    this.fs = new SimFs()
    this.fs.plantDir('/kim')
    this.clock = new SimClock()
    this.seed = seed
    this.lock = new SimLock()
    this.promises = new Promises()
    this.#marks = 0
    this.#pids = 100
  }

  /** The same site over another disk: what happens there does not happen here. */
  fork(fs: SimFs): Site {
    const site = new Site(this.options, this.seed)
    site.fs = fs
    site.clock.advance(this.clock.monoMs())
    site.promises = this.promises.clone()
    site.#marks = this.#marks
    site.#pids = this.#pids
    return site
  }

  /** What a process that starts now opens the store with. Whoever held it before is dead. */
  process(): JournalOptions {
    this.lock.freeAll()
    const pid = ++this.#pids
    const host: Host = {
      pid,
      uid: this.fs.uid,
      startKey: `sim:${pid}`,
      node: 'v20.0.0',
      platform: 'linux-x64',
    }
    // Each process has randomness of its own, the same whenever this history is told again.
    const random = new Prng(this.seed * 100_003 + pid)
    const { fs, clock, lock } = this
    return { storeDir, source: 'http://localhost:7474', fs, clock, random, lock, host, ...this.options }
  }

  /** A process starts and opens the store. */
  open(): Journal {
    return openJournal(this.process())
  }

  /** A draft with a new mark. */
  draft(over: Partial<Draft> = {}): Draft {
    const mark = ++this.#marks
    return {
      agent: 'river',
      action: 'create',
      item_type: 'message',
      item_id: `river/${mark}`,
      summary: `#${mark}`,
      payload: { schema_version: 1, n: mark },
      ...over,
    }
  }

  /** Append, and keep book: a receipt is a promise. */
  append(journal: Journal, drafts: readonly Draft[], tx = false): Receipt {
    return this.#ask(journal, this.promises.ask(drafts, tx))
  }

  /** Ask for the very same drafts once more: a client does when no answer reached it. */
  again(journal: Journal, asked: Asked): Receipt {
    this.promises.askAgain(asked)
    return this.#ask(journal, asked)
  }

  #ask(journal: Journal, asked: Asked): Receipt {
    const receipt = journal.append(asked.drafts, asked.tx ? { tx: true } : {})
    // A dead process tells nobody.
    if (!this.fs.dead) this.promises.keep(asked, receipt)
    return receipt
  }
}
