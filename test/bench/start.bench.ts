/**
 * What a quick look costs: `kim-tail --persona P -n 10` on a store of 10 MB, from the start of the process to its last
 * byte, beside a bare Node in the same run. Agents do this on every turn.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openJournal } from '@kim/producer/internal'

const RUNS = 21
const RATIO_MAX = 2.5
const STORE_BYTES = 10_000_000
const PERSONAS = ['river', 'argus', 'loom']

const bin = join(dirname(createRequire(import.meta.url).resolve('@kim/tail/package.json')), 'bin/kim-tail.js')

/** A store of about ten megabytes, written as the producer writes it. */
function makeStore(directory: string): { readonly records: number; readonly bytes: number } {
  const journal = openJournal({ storeDir: directory, source: 'http://localhost:7474' })
  const events = join(directory, 'events')
  const size = (): number =>
    readdirSync(events)
      .filter(name => name.endsWith('.jsonl'))
      .reduce((sum, name) => sum + statSync(join(events, name)).size, 0)
  let id = 0
  while (size() < STORE_BYTES) {
    const drafts = Array.from({ length: 500 }, () => {
      id += 1
      const persona = PERSONAS[id % PERSONAS.length] ?? ''
      const content = `message ${id}: `.padEnd(150, 'tests are green ')
      return {
        agent: persona,
        action: 'create',
        event: 'new',
        item_id: `${persona}/${id}`,
        item_type: 'message',
        summary: `from argus: message ${id}`,
        payload: {
          content,
          content_length: content.length,
          created: '2026-06-10T14:03:21Z',
          from: 'argus',
          id,
          persona,
          read: false,
          schema_version: 1,
        },
      }
    })
    journal.append(drafts)
  }
  const made = { records: journal.head.seq, bytes: size() }
  journal.close()
  return made
}

function run(args: readonly string[]): number {
  const begun = performance.now()
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  const ms = performance.now() - begun
  const lines = stdout.split('\n').length - 1
  if (status !== 0 || (args.includes(bin) && lines !== 10))
    throw new Error(`${args.join(' ')}: ${status}, ${lines} lines`)
  return ms
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const root = mkdtempSync(join(tmpdir(), 'kim-bench-start-'))
try {
  const made = makeStore(join(root, 'store'))
  const look = [bin, '--store', join(root, 'store'), '--persona', 'river', '-n', '10']
  const bare: number[] = []
  const ours: number[] = []
  // Side by side, so that whatever else the machine does meets both.
  for (let i = 0; i < RUNS; i++) {
    bare.push(run(['-e', '0']))
    ours.push(run(look))
  }
  const ratio = median(ours) / median(bare)
  const result = {
    bench: 'start',
    bare_node_ms: Number(median(bare).toFixed(1)),
    kim_tail_ms: Number(median(ours).toFixed(1)),
    ratio: Number(ratio.toFixed(2)),
    ratio_max: RATIO_MAX,
    met: ratio <= RATIO_MAX,
    ...made,
  }
  if (process.argv.includes('--json')) console.log(JSON.stringify(result))
  else {
    console.log(
      `start  kim-tail -p river -n 10, ${made.records} records, ${(made.bytes / 1e6).toFixed(1)} MB, median of ${RUNS}`,
    )
    console.log(`  bare node  ${result.bare_node_ms} ms`)
    console.log(
      `  kim-tail   ${result.kim_tail_ms} ms  ${result.ratio} x (at most ${RATIO_MAX})  ${result.met ? 'met' : 'MISSED'}`,
    )
  }
  if (!result.met) process.exitCode = 1
} finally {
  rmSync(root, { recursive: true, force: true })
}
