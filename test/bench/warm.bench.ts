/**
 * Following a writer: from an append through a held descriptor to the consumer's callback, beside `tail -F`, in turns:
 * what else the machine does meets both. `npm run bench -- warm [--json] [--tiny]`. Twenty observers share one process,
 * as in an editor. The first lines that a process follows are handled by code that is not compiled yet: they stand
 * beside the whole. Then all of it again with a thousand lines in one write among the others. An append has come when
 * its last line has; of the lines of a large one, each waits until those before it were parsed.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { segmentName } from '@kim/manifest'
import { fastTmpdir } from '../kit/index.js'
import { makeJournal } from './bench-journal.js'
import { fileCalls } from './file-calls.js'
import { percentile, Report } from './report.js'

// After the counting began.
const { memoryCursors, openObserver } = await import('@kim/observer-sdk')

const tiny = process.argv.includes('--tiny')
const LINES = tiny
  ? { alone: 30, together: 30, first: 10, batched: 2500 }
  : { alone: 4000, together: 800, first: 800, batched: 150_000 }
const TURNS = tiny ? 1 : 5
const before = 100
const now = (): number => performance.timeOrigin + performance.now()

/** What is appended, and how many follow it. */
interface Load {
  readonly count: number
  readonly records: number
  /** Whether a thousand lines come in one write now and then. */
  readonly batches?: boolean
}

/** How late each line came that somebody follows, and each append. */
class Heard {
  readonly lines: number[] = []
  readonly appends: number[] = []
  #sent = 0

  line(at: number, sent: number): void {
    const latency = at - sent
    this.lines.push(latency)
    if (sent === this.#sent) this.appends[this.appends.length - 1] = latency
    else this.appends.push(latency)
    this.#sent = sent
  }
}

/** Followers under measurement. */
interface Followed {
  readonly heard: readonly Heard[]
  close(): Promise<void>
}

async function tailF(file: string): Promise<Followed> {
  const child = spawn('tail', ['-n', '0', '-F', file], { stdio: ['ignore', 'pipe', 'ignore'] })
  const heard = new Heard()
  createInterface({ input: child.stdout }).on('line', line => {
    const at = now()
    heard.line(at, Number(/"sent_ms":([\d.]+)/.exec(line)?.[1]))
  })
  return {
    heard: [heard],
    close: async () => {
      child.kill()
      await once(child, 'close')
    },
  }
}

async function observers(count: number, eventsDir: string): Promise<Followed> {
  const opened = await Promise.all(
    Array.from({ length: count }, () => openObserver({ eventsDir, cursors: memoryCursors() })),
  )
  const heard = opened.map(() => new Heard())
  const consumed = opened.map(async (observer, i) => {
    const mine = heard[i] as Heard
    for await (const change of observer.changes()) {
      const at = now()
      for (const { payload } of change.records) mine.line(at, Number(payload?.['sent_ms']))
    }
  })
  return {
    heard,
    close: async () => {
      await Promise.all(opened.map(observer => observer.close()))
      await Promise.all(consumed)
    },
  }
}

function writer(
  file: string,
  { records, batches = false }: Load,
): ChildProcess & { readonly bytes: Promise<number> } {
  const script = fileURLToPath(new URL('warm-writer.js', import.meta.url))
  const args = [file, String(before + 2), String(records), ...(batches ? ['batches'] : [])]
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const bytes = once(child, 'close').then(() => Number(text))
  return Object.assign(child, { bytes })
}

/** Who follows, what is appended meanwhile, and what is to be reached. */
interface Contender {
  readonly title: string
  readonly load: Load
  readonly follow: (eventsDir: string) => Promise<Followed>
  readonly reachP99?: number
}

/** What was seen of one contender, turn by turn. */
class Seen {
  readonly contender: Contender
  readonly lines: number[] = []
  readonly appends: number[] = []
  readonly calls: Record<string, number> = {}
  cpuUs = 0
  bytesRead = 0
  bytesAppended = 0

  constructor(contender: Contender) {
    this.contender = contender
  }

  async turn(): Promise<void> {
    const { load, follow } = this.contender
    const records = load.records / TURNS
    const root = mkdtempSync(join(fastTmpdir(), 'kim-warm-'))
    const eventsDir = join(root, 'events')
    try {
      makeJournal(eventsDir, { records: before, entities: before })
      // A directory that changed a moment ago is listed at every look; one that is followed has not, as a rule.
      utimesSync(eventsDir, 0, 0)
      const child = writer(join(eventsDir, segmentName(1)), { ...load, records })
      const followed = await follow(eventsDir)
      // The watch is armed a moment after the open, and the writer has to start.
      await sleep(tiny ? 500 : 1500)
      const read = fileCalls.bytes
      const calls = { ...fileCalls.calls }
      const cpu = process.cpuUsage()
      child.stdin?.write('go\n')
      this.bytesAppended += await child.bytes
      const came = (): number => followed.heard.reduce((sum, { lines }) => sum + lines.length, 0)
      for (const end = now() + 60_000; came() < records * load.count && now() < end; ) await sleep(5)
      const { user, system } = process.cpuUsage(cpu)
      this.cpuUs += user + system
      this.bytesRead += fileCalls.bytes - read
      for (const [name, times] of Object.entries(fileCalls.calls))
        this.calls[name] = (this.calls[name] ?? 0) + times - (calls[name] ?? 0)
      for (const { lines, appends } of followed.heard) {
        for (const latency of lines) this.lines.push(latency)
        for (const latency of appends) this.appends.push(latency)
      }
      await followed.close()
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }
}

const report = new Report('warm')

/** Tells of all of them; the first is what the others stand beside. */
function tell(all: readonly Seen[]): void {
  const [tail] = all
  const base = percentile(tail?.appends ?? [], 50)
  const lineBase = percentile(tail?.lines ?? [], 50)
  for (const { contender, lines, appends, cpuUs, calls, bytesRead, bytesAppended } of all) {
    const { title, load, reachP99 } = contender
    const appended = load.records * load.count
    const isBeside = contender !== tail?.contender && load.count === 1
    const p50 = percentile(appends, 50)
    const lineP50 = percentile(lines, 50)
    report.add(title, {
      appends: appends.length,
      missed: appended - lines.length,
      p50_ms: p50,
      p99_ms: percentile(appends, 99),
      max_ms: percentile(appends, 100),
      times_tail_p50: isBeside ? p50 / base : undefined,
      reach_times_tail_p50: isBeside ? 1.5 : undefined,
      reach_p99_ms: reachP99,
      line_p50_ms: load.batches === true ? lineP50 : undefined,
      line_p99_ms: load.batches === true ? percentile(lines, 99) : undefined,
      line_times_tail_p50: isBeside && load.batches === true ? lineP50 / lineBase : undefined,
      cpu_us: cpuUs / appended,
      read_ratio: bytesRead / (bytesAppended * load.count),
      ...Object.fromEntries(
        Object.entries(calls)
          .filter(([, times]) => times > 0)
          .map(([name, times]) => [name, times / appended]),
      ),
    })
    if (load.count > 1 || load.batches === true) continue
    const first = lines.slice(0, LINES.first)
    report.add(`${title}, its first ${LINES.first}`, {
      p50_ms: percentile(first, 50),
      p99_ms: percentile(first, 99),
    })
  }
}

async function inTurns(contenders: readonly Contender[]): Promise<void> {
  const all = contenders.map(contender => new Seen(contender))
  for (let turn = 0; turn < TURNS; turn++) for (const seen of all) await seen.turn()
  tell(all)
}

const tail = (eventsDir: string): Promise<Followed> => tailF(join(eventsDir, segmentName(1)))
const one = (eventsDir: string): Promise<Followed> => observers(1, eventsDir)
const twenty = (eventsDir: string): Promise<Followed> => observers(20, eventsDir)

const alone = { count: 1, records: LINES.alone }
await inTurns([
  { title: 'tail -F', load: alone, follow: tail },
  { title: 'one observer', load: alone, follow: one, reachP99: 15 },
  {
    title: 'twenty observers',
    load: { count: 20, records: LINES.together },
    follow: twenty,
    reachP99: 60,
  },
])
const batched = { count: 1, records: LINES.batched, batches: true }
await inTurns([
  { title: 'tail -F, with batches', load: batched, follow: tail },
  { title: 'one observer, with batches', load: batched, follow: one, reachP99: 15 },
])
// By themselves, because what is left of twenty states keeps the process busy that is to follow alone next.
await inTurns([
  {
    title: 'twenty observers, with batches',
    load: { ...batched, count: 20 },
    follow: twenty,
    reachP99: 60,
  },
])
report.print(process.argv.includes('--json'))
