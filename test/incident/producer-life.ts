import {
  type CoreOptions,
  createCore,
  currentHost,
  Driver,
  type Ending,
  type Host,
  type Journal,
  openJournal,
  startedNote,
  stoppedNote,
} from '@kim/producer/internal'
import { Prng } from '../kit/index.js'
import type { SimLoop } from './sim-loop.js'
import type { SimulatedSource } from './simulated-source.js'

const VERSION = '0.1.0'
/** Small enough that an afternoon fills several segments: there is a checkpoint to start from, and an archive. */
const SEGMENT_BYTES = 48 * 1024

/** The defaults of `kim-producer run`, but for more frequent looks at what was read, and alerts without a grace. */
const CHOICES: CoreOptions = {
  dialect: 'hosted',
  personas: undefined,
  waitSeconds: 50,
  pollSeconds: 60,
  alertAfter: 3,
  resyncEvery: 4,
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

/** One life of the real producer: its loop, its decisions and its journal, on a host whose time is made up. */
export class ProducerLife {
  readonly journal: Journal
  readonly #driver: Driver

  constructor(storeDir: string, pid: number, seed: number, loop: SimLoop, source: SimulatedSource) {
    const { uid } = currentHost()
    const host: Host = { pid, uid, startKey: `simulated:${pid}`, node: 'v20.19.0', platform: 'linux-x64' }
    const { clock } = loop
    this.journal = openJournal({
      ...{ storeDir, source: source.base, clock, host, turn: loop },
      random: new Prng(seed + pid),
      segmentBytes: SEGMENT_BYTES,
    })
    this.#driver = new Driver({
      ...{ journal: this.journal, source, clock, turn: loop, timers: loop },
      core: createCore(CHOICES, this.journal),
      log: () => undefined,
      opening: startedNote(VERSION, host),
      closing: stoppedNote,
    })
    this.#driver.wake()
  }

  /** Ends it, and throws what it failed of if it did. */
  async stop(reason: string): Promise<void> {
    this.#driver.stop(reason)
    const ending: Ending = await this.#driver.ended
    this.journal.close()
    if (ending.kind === 'failed') throw ending.error
  }
}
