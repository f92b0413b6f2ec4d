/**
 * Following a writer: from an append through a held descriptor to the consumer's callback, beside `tail -F` in the
 * same run: `npm run bench -- warm [--json] [--tiny]`. Twenty observers share one process, as in an editor. The first
 * lines that a process follows are handled by code that is not compiled yet: they stand beside the whole. Then all of
 * it again with a thousand lines in one write among the others.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
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
  : { alone: 4000, together: 800, first: 800, batched: 60_000 }
const before = 100
const now = (): number => performance.timeOrigin + performance.now()

/** What is appended, and how many follow it. */
interface Load {
  readonly count: number
  readonly records: number
  /** Whether a thousand lines come in one write now and then. */
  readonly batches?: boolean
}

/** A follower under measurement: how late each line came, and how many. */
interface Followed {
  readonly latencies: number[]
  close(): Promise<void>
}

async function tailF(file: string): Promise<Followed> {
  const child = spawn('tail', ['-n', '0', '-F', file], { stdio: ['ignore', 'pipe', 'ignore'] })
  const latencies: number[] = []
  createInterface({ input: child.stdout }).on('line', line => {
    const at = now()
    latencies.push(at - Number(/"sent_ms":([\d.]+)/.exec(line)?.[1]))
  })
  return {
    latencies,
    close: async () => {
      child.kill()
      await once(child, 'close')
    },
  }
}

async function observers(count: number, eventsDir: string): Promise<Followed> {
  const latencies: number[] = []
  const opened = await Promise.all(
    Array.from({ length: count }, () => openObserver({ eventsDir, cursors: memoryCursors() })),
  )
  const consumed = opened.map(async observer => {
    for await (const change of observer.changes()) {
      const at = now()
      for (const { payload } of change.records) latencies.push(at - Number(payload?.['sent_ms']))
    }
  })
  return {
    latencies,
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

const report = new Report('warm')
/** What `tail -F` took, half of the time. */
let base = Number.NaN

async function measure(
  title: string,
  load: Load,
  follow: (eventsDir: string) => Promise<Followed>,
  goal: { readonly p50?: number; readonly p99?: number },
): Promise<number> {
  const { count, records, batches } = load
  const root = mkdtempSync(join(fastTmpdir(), 'kim-warm-'))
  const eventsDir = join(root, 'events')
  try {
    makeJournal(eventsDir, { records: before, entities: before })
    const child = writer(join(eventsDir, segmentName(1)), load)
    const followed = await follow(eventsDir)
    // The watch is armed a moment after the open, and the writer has to start.
    await sleep(tiny ? 500 : 1500)
    const read = fileCalls.bytes
    const calls = { ...fileCalls.calls }
    const cpu = process.cpuUsage()
    child.stdin?.write('go\n')
    const appended = await child.bytes
    for (const end = now() + 10_000; followed.latencies.length < records * count && now() < end; )
      await sleep(5)
    const { user, system } = process.cpuUsage(cpu)
    const perRecord = (value: number): number => value / (records * count)
    const called = Object.entries(fileCalls.calls).map(
      ([name, times]) => [name, perRecord(times - (calls[name] ?? 0))] as const,
    )
    const { latencies } = followed
    const p50 = percentile(latencies, 50)
    report.add(title, {
      lines: latencies.length,
      missed: records * count - latencies.length,
      p50_ms: p50,
      p99_ms: percentile(latencies, 99),
      max_ms: percentile(latencies, 100),
      times_tail_p50: goal.p50 === undefined ? undefined : p50 / base,
      reach_p50_ms: goal.p50,
      reach_p99_ms: goal.p99,
      cpu_us: perRecord(user + system),
      read_ratio: (fileCalls.bytes - read) / (appended * count),
      ...Object.fromEntries(called.filter(([, times]) => times > 0)),
    })
    if (count === 1 && batches !== true) {
      const first = latencies.slice(0, LINES.first)
      report.add(`${title}, its first ${LINES.first}`, {
        p50_ms: percentile(first, 50),
        p99_ms: percentile(first, 99),
      })
    }
    await followed.close()
    return p50
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

const alone = { count: 1, records: LINES.alone }
base = await measure('tail -F', alone, eventsDir => tailF(join(eventsDir, segmentName(1))), {})
await measure('one observer', alone, eventsDir => observers(1, eventsDir), { p50: base * 1.5, p99: 15 })
await measure(
  'twenty observers',
  { count: 20, records: LINES.together },
  eventsDir => observers(20, eventsDir),
  { p99: 60 },
)
const batched = { count: 1, records: LINES.batched, batches: true }
base = await measure(
  'tail -F, with batches',
  batched,
  eventsDir => tailF(join(eventsDir, segmentName(1))),
  {},
)
await measure('one observer, with batches', batched, eventsDir => observers(1, eventsDir), {
  p50: base * 1.5,
})
await measure(
  'twenty observers, with batches',
  { ...batched, count: 20 },
  eventsDir => observers(20, eventsDir),
  { p99: 60 },
)
report.print(process.argv.includes('--json'))
