/**
 * A wake, end to end: from the moment the server lets go of the long poll to the line of `kim-tail -f`, beside the
 * least that could be done in the same run: `npm run bench -- wake [--json] [--tiny]`. Besides: what a quiet hive costs.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Prng } from '../kit/index.js'
import { end, produce, Server, script, TAIL } from './bench-hive.js'
import { processCost } from './process-cost.js'
import { percentile, Report } from './report.js'

const isTiny = process.argv.includes('--tiny')
const WAKES = isTiny ? 5 : 120
/** Between two wakes, on average. */
const GAP_MS = isTiny ? 20 : 60
const QUIET_MS = isTiny ? 1000 : 20_000
const EACH = isTiny ? 5 : 500
/** A second or less each. */
const TRIES = 60
const RSS_MB_MAX = 110
const REACH = { few: { p50: 4, p95: 12 }, many: { p50: 6, p95: 20 } }

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** What prints a line for each message, and when each of them came. */
interface Pipeline {
  readonly arrived: ReadonlyMap<number, number>
  /** The process that asks the server, and the one that prints. */
  readonly asks: ChildProcess
  readonly prints: ChildProcess
  close(): Promise<void>
}

function arrivals(out: Readable, idOf: RegExp): Map<number, number> {
  const arrived = new Map<number, number>()
  createInterface({ input: out }).on('line', line => {
    const at = nowMs()
    const id = idOf.exec(line)?.[1]
    if (id !== undefined) arrived.set(Number(id), at)
  })
  return arrived
}

async function bare(home: string, url: string): Promise<Pipeline> {
  const file = join(home, 'lines')
  writeFileSync(file, '')
  const asks = fork(script('wake-bare.js'), [url, file])
  await once(asks, 'message')
  const prints = spawn('tail', ['-n', '0', '-F', file], { stdio: ['ignore', 'pipe', 'ignore'] })
  const close = async (): Promise<void> => void (await Promise.all([asks, prints].map(end)))
  return { asks, prints, arrived: arrivals(prints.stdout, /"id":(\d+)/), close }
}

async function ours(home: string, url: string): Promise<Pipeline> {
  const { producer: asks, store, env } = await produce(home, url)
  const flags = ['--store', store, '-f', '-n', '0']
  const prints = spawn(process.execPath, [TAIL, ...flags], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const close = async (): Promise<void> => void (await Promise.all([asks, prints].map(end)))
  return { asks, prints, arrived: arrivals(prints.stdout, /"item_id":"[^"]*\/(\d+)"/), close }
}

const report = new Report('wake')
const random = new Prng(7)

interface Late {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** Wakes one persona after another; how late each line was. */
async function wake(
  server: Server,
  { arrived }: Pipeline,
  personas: readonly string[],
): Promise<Late & { missed: number }> {
  const released = new Map<number, number>()
  for (let n = 0; n < WAKES; n++) {
    const { ids = [], atMs = 0 } = await server.tell({ do: 'send', to: [random.pick(personas)] })
    for (const id of ids) released.set(id, atMs)
    await sleep(GAP_MS / 2 + random.int(GAP_MS))
  }
  await all(arrived, [...released.keys()])
  const late = [...released].flatMap(([id, at]) => (arrived.has(id) ? [(arrived.get(id) ?? 0) - at] : []))
  return {
    p50: percentile(late, 50),
    p95: percentile(late, 95),
    p99: percentile(late, 99),
    missed: released.size - late.length,
  }
}

/** Waits until the lines of all these messages are there; gives up after a while. */
async function all(arrived: ReadonlyMap<number, number>, ids: readonly number[]): Promise<void> {
  for (const end = nowMs() + 20_000; nowMs() < end && !ids.every(id => arrived.has(id)); ) await sleep(10)
}

/** Sends mail until a line of it comes: a tail that still starts misses some. */
async function follows({ arrived }: Pipeline, server: Server, persona: string): Promise<void> {
  for (let tries = 0; tries < TRIES && arrived.size === 0; tries++) {
    await server.tell({ do: 'send', to: [persona] })
    for (const end = nowMs() + 1000; nowMs() < end && arrived.size === 0; ) await sleep(10)
  }
}

/** Waits until the server is asked nothing for a while. */
async function atRest(server: Server): Promise<void> {
  const requests = async (): Promise<number> => (await server.tell({ do: 'count' })).requests ?? 0
  for (let tries = 0, before = -1; tries < TRIES && before !== (await requests()); tries++) {
    before = await requests()
    await sleep(500)
  }
}

async function inScene(
  open: (home: string, url: string) => Promise<Pipeline>,
  load: { readonly personas: readonly string[]; readonly each: number },
  then: (pipeline: Pipeline, server: Server) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'kim-bench-wake-'))
  const server = new Server()
  try {
    const url = await server.ready()
    await server.tell({ do: 'load', ...load })
    const pipeline = await open(home, url)
    try {
      // The tail has to look once before it can be woken.
      await sleep(isTiny ? 500 : 1000)
      await follows(pipeline, server, load.personas[0] ?? '')
      await then(pipeline, server)
    } finally {
      await pipeline.close()
    }
  } finally {
    await server.close()
    rmSync(home, { recursive: true, force: true })
  }
}

function add(
  title: string,
  late: Late & { missed: number },
  base?: Late,
  reach?: { p50: number; p95: number },
): void {
  report.add(title, {
    p50_ms: late.p50,
    p95_ms: late.p95,
    p99_ms: late.p99,
    reach_p50_ms: reach?.p50,
    reach_p95_ms: reach?.p95,
    times_bare_p50: base === undefined ? undefined : late.p50 / base.p50,
    times_bare_p95: base === undefined ? undefined : late.p95 / base.p95,
    missed: late.missed,
  })
  if (isTiny || reach === undefined) return
  if (late.p50 > reach.p50 || late.p95 > reach.p95 || late.missed > 0) process.exitCode = 1
}

/** What the two processes take while nothing happens. */
async function quiet({ asks, prints }: Pipeline, server: Server): Promise<void> {
  // What was learnt last is followed by nothing any more.
  await sleep(isTiny ? 100 : 2000)
  await atRest(server)
  const before = { asks: processCost(asks.pid), prints: processCost(prints.pid), at: nowMs() }
  const { requests: asked = 0 } = await server.tell({ do: 'count' })
  await sleep(QUIET_MS)
  const { requests = 0 } = await server.tell({ do: 'count' })
  const ms = nowMs() - before.at
  const percent = (now: number | undefined, then: number | undefined): number | undefined =>
    now === undefined || then === undefined ? undefined : ((now - then) / ms) * 100
  report.add('quiet, 200 personas', {
    requests_per_minute: ((requests - asked) / ms) * 60_000,
    producer_cpu_percent: percent(processCost(asks.pid)?.cpuMs, before.asks?.cpuMs),
    tail_cpu_percent: percent(processCost(prints.pid)?.cpuMs, before.prints?.cpuMs),
    tail_rss_mb: processCost(prints.pid)?.residentMb,
  })
}

/** Takes in `each` messages for everybody. */
async function takeIn(
  { arrived }: Pipeline,
  server: Server,
  personas: readonly string[],
  each: number,
): Promise<number> {
  const begun = nowMs()
  const { ids: [last = 0] = [] } = await server.tell({ do: 'burst', to: personas, each })
  const ids = Array.from({ length: personas.length * each }, (_, n) => last - n)
  await all(arrived, ids)
  if (!ids.every(id => arrived.has(id)))
    throw new Error(`${ids.filter(id => !arrived.has(id)).length} lines are missing`)
  const perSecond = (ids.length / (nowMs() - begun)) * 1000
  await server.tell({ do: 'trim', keep: 10 })
  // The counts fell, which shows with the next mail: without a rise beside it, it would have everybody asked.
  await server.tell({ do: 'send', to: personas })
  await sleep(isTiny ? 300 : 3000)
  return perSecond
}

/** What the producer holds when it came to rest after all that. */
function memory({ asks }: Pipeline, messagesPerSecond: number): void {
  const cost = processCost(asks.pid)
  report.add(`memory, 200 personas x ${EACH} messages`, {
    rss_mb: cost?.residentMb,
    reach_mb: RSS_MB_MAX,
    peak_mb: cost?.peakMb,
    messages_per_s: messagesPerSecond,
  })
  if (!isTiny && (cost?.residentMb ?? 0) > RSS_MB_MAX) process.exitCode = 1
}

const FEW = ['river', 'argus', 'loom']
const MANY = Array.from({ length: 200 }, (_, n) => `agent-${n}`)

for (const [title, personas, reach] of [
  ['3 personas', FEW, REACH.few],
  ['200 personas', MANY, REACH.many],
] as const) {
  let base: Late | undefined
  await inScene(bare, { personas, each: 10 }, async (pipeline, server) => {
    const late = await wake(server, pipeline, personas)
    add(`${title}, bare`, late)
    base = late
  })
  await inScene(ours, { personas, each: 10 }, async (pipeline, server) => {
    const rate = personas === MANY ? await takeIn(pipeline, server, personas, EACH) : 0
    add(title, await wake(server, pipeline, personas), base, reach)
    if (personas !== MANY) return
    await quiet(pipeline, server)
    memory(pipeline, rate)
  })
}
report.print(process.argv.includes('--json'))
