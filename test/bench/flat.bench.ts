/**
 * What the producer holds while a million messages come, are read and retire: `npm run bench -- flat [--json] [--tiny]`.
 * The baseline is what it held after the first part of the same run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryCursors, openTail } from '@kim/observer-sdk'
import { end, produce, Server } from './bench-hive.js'
import { processCost } from './process-cost.js'
import { Report } from './report.js'

const isTiny = process.argv.includes('--tiny')
const PERSONAS = Array.from({ length: isTiny ? 5 : 200 }, (_, n) => `agent-${n}`)
const EACH = isTiny ? 10 : 50
const ROUNDS = isTiny ? 10 : 100
/** Samples are gathered over a tenth of the run. */
const TENTH = ROUNDS / 10
/** By then every inbox holds as many read messages as are retained. */
const SETTLED = 2
const TIMES_MAX = 1.2

/** How many messages the journal tells of, and how many of them were read upstream. */
class Count {
  told = 0
  read = 0
  readonly #tail: Awaited<ReturnType<typeof openTail>>
  readonly #done: Promise<void>

  static async of(eventsDir: string): Promise<Count> {
    return new Count(await openTail({ eventsDir, cursors: memoryCursors(), from: 'head' }))
  }

  private constructor(tail: Awaited<ReturnType<typeof openTail>>) {
    this.#tail = tail
    this.#done = this.#follow()
  }

  async reach(total: number): Promise<void> {
    while (this.told < total) await sleep(20)
  }

  async close(): Promise<void> {
    await this.#tail.close()
    await this.#done
  }

  async #follow(): Promise<void> {
    for await (const { records } of this.#tail.changes())
      for (const { item_type, action, event } of records) {
        if (item_type !== 'message') continue
        if (event === 'new') this.told += 1
        else if (action === 'update') this.read += 1
      }
  }
}

const report = new Report('flat')
const home = mkdtempSync(join(tmpdir(), 'kim-bench-flat-'))
const server = new Server()
try {
  const url = await server.ready()
  await server.tell({ do: 'load', personas: PERSONAS, each: 1 })
  const { producer, store } = await produce(home, url)
  const count = await Count.of(join(store, 'events'))
  const most: number[] = []
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      await server.tell({ do: 'burst', to: PERSONAS, each: EACH })
      const total = round * EACH * PERSONAS.length
      await count.reach(total)
      // What was read shows at the next polls, which come with the next mail: it has to be there until then.
      await server.tell({ do: 'trim', keep: 2 * EACH })
      await server.tell({ do: 'read' })
      const tenth = Math.ceil(round / TENTH) - 1
      most[tenth] = Math.max(most[tenth] ?? 0, processCost(producer.pid)?.residentMb ?? 0)
      if (round % TENTH === 0)
        report.add(`${total} messages`, {
          rss_mb: most[tenth],
          times_settled: tenth < SETTLED ? undefined : (most[tenth] ?? 0) / (most[SETTLED - 1] ?? 1),
        })
    }
    await sleep(isTiny ? 100 : 5000)
    const cost = processCost(producer.pid)
    report.add('at rest', { rss_mb: cost?.residentMb, peak_mb: cost?.peakMb, seen_read: count.read })
    const isFlat = most.slice(SETTLED).every(mb => mb <= TIMES_MAX * (most[SETTLED - 1] ?? 0))
    if (!isTiny && !isFlat) process.exitCode = 1
  } finally {
    await count.close()
    await end(producer)
  }
} finally {
  await server.close()
  rmSync(home, { recursive: true, force: true })
}
report.print(process.argv.includes('--json'))
