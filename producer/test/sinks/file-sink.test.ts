import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { MonitorEvent } from '@kim/monitor'
import { Disk, FileSink, type FileSystem, type Journal, Sinks } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { FaultyFs } from '../kit/faulty-fs.js'
import { homeOf } from '../kit/home.js'
import { message, TestStore } from '../kit/store.js'

/** So many times faster than the clock on the wall does this sink wait. */
const SPEED = 200

/** More files than any test here fills: each rotation looks at all of them. */
const KEEP = 100

/** What changes the disk; a kill between two of these leaves what a kill at the second one leaves. */
const CHANGES: ReadonlySet<keyof FileSystem> = new Set([
  'openSync',
  'writeSync',
  'mkdirSync',
  'renameSync',
  'unlinkSync',
])

/** When a life ends: at the how manieth change of the disk, and how much of a write still goes in. */
interface Death {
  readonly at: number
  readonly part: (length: number) => number
}

interface Scene {
  /** Begins anew: no event file yet, and a watermark file that stands before the first event. */
  reset(): void
  /** Runs the sink until it has told everything, or until it dies; says in which call it died. */
  live(death?: Death): Promise<keyof FileSystem | undefined>
  /** The ids in all of the event files, oldest first. */
  ids(): unknown[]
}

/** A journal with so many messages of so many bytes, and a sink that begins before them. */
async function scene(t: Test, count: number, bytes: number, bytesMax: number): Promise<Scene> {
  const store = new TestStore(t)
  const journal = store.open()
  const root = homeOf(t)
  const [first, ledgers, files] = ['first', 'ledgers', 'files'].map(name => join(root, name)) as [
    string,
    string,
    string,
  ]
  const open = (fs: FileSystem, ledgerDir: string): Sinks => openSink(journal, store, fs, ledgerDir, files)
  const empty = new FaultyFs()
  const before = open(empty.port, first)
  await before.close()
  for (let id = 1; id <= count; id++) {
    const named = { agent: 'river', item_id: `river/${id}`, event: 'new' }
    journal.append([message(id, named, { persona: 'river', from: 'argus', content: 'x'.repeat(bytes) })])
  }
  const reset = (): void => {
    for (const dir of [ledgers, files]) rmSync(dir, { recursive: true, force: true })
    mkdirSync(files, { mode: 0o700 })
    cpSync(first, ledgers, { recursive: true })
  }
  const live: Scene['live'] = async death => {
    const fs = new FaultyFs()
    let died: keyof FileSystem | undefined
    let left = death?.at ?? Number.POSITIVE_INFINITY
    fs.fault = ({ name, length = 0 }) => {
      if (name === 'closeSync') return undefined
      if (died !== undefined) return 'EIO'
      if (!CHANGES.has(name) || left-- > 0) return undefined
      died = name
      return name === 'writeSync' ? death?.part(length) : 'EIO'
    }
    const sinks = open(fs.port, ledgers)
    const isDone = (): boolean =>
      sinks.status().every(({ behind, state }) => behind === 0 && state === 'working')
    while (died === undefined && !isDone()) await new Promise(resolve => setImmediate(resolve))
    await sinks.close()
    return died
  }
  const ids = (): unknown[] =>
    readdirSync(files)
      .sort((a, b) => number(b) - number(a))
      .flatMap(name => readFileSync(join(files, name), 'utf8').split('\n'))
      .flatMap(line => idOf(line))
  return { reset, live, ids }

  function openSink(
    journal: Journal,
    store: TestStore,
    fs: FileSystem,
    ledgerDir: string,
    dir: string,
  ): Sinks {
    const uid = process.getuid?.()
    const log = (): void => undefined
    // A kill takes nothing from what the system holds already.
    const disk = new Disk(fs, uid, { skipFsync: true }, log)
    const parts = { fs, disk, uid, log, storeDir: store.dir, bytesMax, keep: KEEP }
    const sinks = new Sinks({
      plans: [{ identity: 'file', make: () => new FileSink(join(dir, 'ev.ndjson'), parts) }],
      around: {
        eventsDir: store.paths.events,
        facts: { projectId: () => journal.projectId, payloadOf: record => record.payload },
        contentChars: 10_000,
        durableSeq: () => journal.head.seq,
        clock: { wallMs: Date.now, monoMs: () => performance.now() * SPEED },
        timers: {
          after: (ms, run) => {
            const timer = setTimeout(run, ms / SPEED)
            return () => clearTimeout(timer)
          },
        },
        log,
      },
      ledgerDir,
      projectId: journal.projectId,
      disk,
      head: journal.head,
      heartbeatMs: undefined,
      watched: () => [],
    })
    sinks.start()
    return sinks
  }
}

const number = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)

/** The id of a whole line; what a kill cut stands for nothing. */
function idOf(line: string): unknown[] {
  try {
    return [(JSON.parse(line) as { id: unknown }).id]
  } catch {
    return []
  }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1)

/** How much of a write goes in before the end: nothing, half of it, all but the last `\n`. */
const PARTS: readonly ((length: number) => number)[] = [() => 0, length => length >> 1, length => length - 1]

for (const [what, count, bytes, bytesMax] of [
  ['one file', 600, 900, 0],
  ['many rotations', 16, 300, 1500],
  ['a rotation every line', 5, 300, 1],
] as const) {
  t.test(`file sink - KS-90 ${what}: each event stands once, wherever it is killed`, async t => {
    const { reset, live, ids } = await scene(t, count, bytes, bytesMax)
    let deaths = 0
    for (let at = 0, isOver = false; !isOver; at++) {
      for (const part of PARTS) {
        reset()
        const died = await live({ at, part })
        isOver = died === undefined
        if (isOver) break
        deaths++
        await live()
        const stands = ids()
        if (JSON.stringify(stands) !== JSON.stringify(upTo(count))) {
          t.same(stands, upTo(count), `killed at change ${at}, ${died}`)
          return
        }
        if (died !== 'writeSync') break
      }
    }
    t.ok(deaths > 20, `${deaths} deaths`)
  })
}

t.test('file sink - KS-90 each event stands once, however often it is killed', async t => {
  const seed = Number(process.env['KIM_SEED'] ?? 20260610)
  t.comment(`KIM_SEED=${seed}`)
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state >>> 8) % below
  }
  const { reset, live, ids } = await scene(t, 60, 300, 2500)
  for (let round = 0; round < 8; round++) {
    reset()
    const life = (): Death => ({ at: random(25), part: PARTS[random(3)] ?? (() => 0) })
    for (let lives = 0; lives < 40 && (await live(life())) !== undefined; lives++);
    await live()
    t.same(ids(), upTo(60))
  }
})

t.test('file sink - KS-72 files of many personas hold few descriptors', async t => {
  const dir = homeOf(t)
  const fs = new FaultyFs()
  const log = (): void => undefined
  const uid = process.getuid?.()
  const disk = new Disk(fs.port, uid, { skipFsync: true }, log)
  const parts = { fs: fs.port, disk, uid, log, storeDir: join(dir, 'store'), bytesMax: 0, keep: 1 }
  const sink = new FileSink(join(dir, '{persona}.ndjson'), parts)
  const event = (id: number): MonitorEvent => ({ event: 'new', event_id: `x:new:${id}` }) as MonitorEvent
  let openNow = 0
  let openMost = 0
  fs.fault = ({ name }) => {
    if (name === 'openSync') openMost = Math.max(openMost, ++openNow)
    if (name === 'closeSync') openNow--
    return undefined
  }
  for (let id = 0; id < 400; id++)
    t.same(await sink.deliver(`p${id % 200}`, [event(id)]), { taken: 1, failure: undefined })
  t.ok(openMost < 70, `${openMost} at a time`)
  t.equal(readFileSync(join(dir, 'p7.ndjson'), 'utf8').split('\n').length, 3, 'opened again in its turn')
  sink.close()
  t.equal(openNow, 0)
})
