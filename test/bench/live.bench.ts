/**
 * Following a whole journal at work: bursts of single records and of a thousand in one write, across rolls, checkpoints
 * and archive moves, from the write of a segment's bytes to the consumer's callback. `tail -F` follows a file that gets
 * the same bytes, and never rolls. In turns: `npm run bench -- live [--json] [--tiny]`.
 */

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { latenciesOf, type Moment, nowMs } from '../e2e/latency.js'
import { followByTail } from '../e2e/tail-process.js'
import { ended, scriptPath, type Written } from '../e2e/writer-process.js'
import { fastTmpdir } from '../kit/index.js'
import { percentile, Report } from './report.js'

const tiny = process.argv.includes('--tiny')
const SIZE = tiny ? { singles: 20, batches: 3 } : { singles: 200, batches: 30 }
const TURNS = tiny ? 1 : 5

/** Followers of one journal: what came to each of them by the end, and the moments that it is compared with. */
interface Follow {
  readonly title: string
  readonly count: number
  readonly reachP99?: number
}

interface Followed {
  arrivals(head: number): Promise<readonly (readonly Moment[])[]>
}

const FOLLOWS: readonly Follow[] = [
  { title: 'tail -F', count: 0 },
  { title: 'one observer', count: 1, reachP99: 15 },
  { title: 'twenty observers', count: 20, reachP99: 60 },
]

async function observers(count: number, eventsDir: string): Promise<Followed> {
  const opened = await Promise.all(
    Array.from({ length: count }, () => openObserver({ eventsDir, cursors: memoryCursors() })),
  )
  const arrivals = opened.map((): Moment[] => [])
  const consumed = opened.map(async (observer, i) => {
    for await (const { cursor } of observer.changes()) arrivals[i]?.push([cursor.seq, nowMs()])
  })
  return {
    async arrivals(head) {
      const isThere = (): boolean => arrivals.every(each => (each.at(-1)?.[0] ?? 0) >= head)
      for (const end = nowMs() + 60_000; !isThere() && nowMs() < end; ) await sleep(5)
      await Promise.all(opened.map(observer => observer.close()))
      await Promise.all(consumed)
      return arrivals
    },
  }
}

async function tailF(mirror: string): Promise<Followed> {
  const tail = followByTail(mirror)
  return { arrivals: async () => [await tail.arrivals()] }
}

/** What was seen of one follower, turn by turn. */
class Seen {
  readonly latencies: number[] = []
  records = 0
  missed = 0
  archived = 0

  async turn({ count }: Follow, seed: number): Promise<void> {
    const store = mkdtempSync(join(fastTmpdir(), 'kim-live-'))
    const eventsDir = join(store, 'events')
    const mirror = join(store, 'mirror')
    writeFileSync(mirror, '')
    try {
      const flags = { store, mirror, seed, singles: SIZE.singles, batches: SIZE.batches }
      const given = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
      const script = scriptPath('journal-writer.js')
      const child = spawn(process.execPath, [script, '--await', ...given], {
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      const output = ended(child)
      while (!existsSync(join(eventsDir, segmentName(1))) && child.exitCode === null) await sleep(20)
      const followed = await (count === 0 ? tailF(mirror) : observers(count, eventsDir))
      // The watch is armed a moment after the open.
      await sleep(tiny ? 500 : 1500)
      const began = nowMs()
      child.stdin.write('go\n')
      const { code, stdout, stderr } = await output
      if (code !== 0) throw new Error(`the writer ended with ${code}: ${stderr}`)
      const { head, writes } = JSON.parse(stdout) as Written
      const written = writes.map(([seq, mirroredMs, ms]): Moment => [seq, count === 0 ? mirroredMs : ms])
      const appended = written.filter(([, ms]) => ms >= began)
      for (const arrivals of await followed.arrivals(head)) {
        const latencies = latenciesOf(written, arrivals, began)
        this.missed += appended.length - latencies.length
        for (const latency of latencies) this.latencies.push(latency)
      }
      this.records += head
      this.archived += readdirSync(join(eventsDir, 'archive')).length
    } finally {
      rmSync(store, { recursive: true, force: true })
    }
  }
}

const all = FOLLOWS.map(follow => ({ follow, seen: new Seen() }))
for (let turn = 0; turn < TURNS; turn++)
  for (const { follow, seen } of all) await seen.turn(follow, 11 + turn)

const report = new Report('live')
const base = percentile(all[0]?.seen.latencies ?? [], 50)
for (const { follow, seen } of all) {
  const { latencies, records, archived, missed } = seen
  const p50 = percentile(latencies, 50)
  report.add(follow.title, {
    records,
    archived,
    appends: latencies.length,
    missed,
    p50_ms: p50,
    p90_ms: percentile(latencies, 90),
    p99_ms: percentile(latencies, 99),
    max_ms: percentile(latencies, 100),
    times_tail_p50: follow.count === 1 ? p50 / base : undefined,
    reach_times_tail_p50: follow.count === 1 ? 1.5 : undefined,
    reach_p99_ms: follow.reachP99,
  })
}
report.print(process.argv.includes('--json'))
