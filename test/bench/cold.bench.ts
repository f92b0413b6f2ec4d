/**
 * Cold starts beside a naive reader, in one run: `npm run bench -- cold [--json] [--tiny]`.
 * KIM_BENCH_DIR keeps the journals for the next run.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { isMade, type JournalPlan, makeJournal } from './bench-journal.js'
import { readAll } from './naive-cold.js'
import { bestOf, Report } from './report.js'

type Way = 'naive' | 'open' | 'summary' | 'payloads'

/** One way of reading a journal, to the point that is measured. */
async function read(way: Way, eventsDir: string): Promise<number> {
  const began = performance.now()
  if (way === 'naive') {
    readAll(eventsDir)
    return performance.now() - began
  }
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  if (way === 'summary') observer.board()
  if (way === 'payloads') for (const { payload } of observer.state.values()) if (payload === undefined) break
  const took = performance.now() - began
  await observer.close()
  return took
}

const [first, second] = process.argv.slice(2)
if (first === '--once') {
  // A fresh process: what a command pays.
  process.stdout.write(String(await read(second as Way, process.argv[4] as string)))
  process.exit(0)
}

const tiny = process.argv.includes('--tiny')
const runs = tiny ? 2 : 7
const million: JournalPlan = tiny
  ? { records: 3_000, entities: 200 }
  : { records: 1_000_000, entities: 20_000 }
const distinct: JournalPlan = tiny ? { records: 300, entities: 300 } : { records: 17_700, entities: 17_700 }
const kept = process.env['KIM_BENCH_DIR']
const root = kept ?? mkdtempSync(join(tmpdir(), 'kim-bench-'))

function journal(name: string, plan: JournalPlan): string {
  const eventsDir = join(root, name)
  if (!isMade(eventsDir)) makeJournal(eventsDir, plan)
  return eventsDir
}

const once = (way: Way, eventsDir: string): number =>
  Number(execFileSync(process.execPath, [fileURLToPath(import.meta.url), '--once', way, eventsDir]))

const report = new Report('cold')

/** Measures the ways alternately, so that what else the machine does falls on all of them. */
async function compare(
  title: string,
  eventsDir: string,
  ways: Readonly<Partial<Record<Way, number>>>,
): Promise<void> {
  const names: Way[] = ['naive', ...(Object.keys(ways) as Way[])]
  const best = await bestOf(runs, names, way => read(way, eventsDir))
  for (const way of names) {
    report.add(`${title}: ${way}`, {
      ms: best[way],
      first_ms: once(way, eventsDir),
      ratio: best.naive / best[way],
      reach: ways[way],
    })
  }
}

try {
  await compare('1 M records, no checkpoint', journal(tiny ? 'tiny-million' : 'million', million), {
    open: 4,
  })
  await compare('17.7 k distinct records', journal(tiny ? 'tiny-distinct' : 'distinct', distinct), {
    summary: 2.5,
    payloads: 1,
  })
  const tail = tiny ? 20 : 1_000
  await compare(
    '1 M records, checkpoint',
    journal(tiny ? 'tiny-checkpoint' : 'checkpoint', { ...million, checkpointTail: tail }),
    { open: 15 },
  )
  report.print(process.argv.includes('--json'))
} finally {
  if (kept === undefined) rmSync(root, { recursive: true, force: true })
}
