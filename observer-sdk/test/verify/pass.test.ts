import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { encodeRecord, segmentName } from '@kim/manifest'
import {
  type PassOptions,
  type PassProgress,
  statsJournal,
  statsText,
  verifyJournal,
} from '@kim/observer-sdk/verify'
import t from 'tap'
import { JournalMaker } from './journal-maker.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** A journal of about `megabytes`, of few entities and many lines, its last segment packed away. */
function writeLong(dir: string, megabytes: number): string {
  const journal = new JournalMaker()
  const content = 'x'.repeat(900)
  for (let bytes = 0; bytes < megabytes * 1_000_000; ) {
    const lines: string[] = []
    for (let i = 0; i < 2000; i += 1) {
      const record = journal.build({ item_id: `river/${i}`, payload: { content, schema_version: 1 } })
      const line = encodeRecord(record)
      lines.push(line)
      bytes += line.length
      journal.line('', record.seq)
      journal.apply(record)
    }
    journal.active.text += lines.join('')
    journal.roll()
  }
  journal.park(journal.segments[1]?.number ?? 0, true)
  return journal.write(join(dir, 'events'))
}

const events = writeLong(t.testdir(), 20)

t.test('verify - tells how far it is, to the end', async t => {
  const steps: PassProgress[] = []
  const verdict = await verifyJournal({ eventsDir: events, onProgress: step => steps.push(step) })
  t.equal(verdict.exit, 0)
  t.ok(steps.length > 50, `${steps.length} steps`)
  t.ok(
    steps.every((step, at) => at === 0 || step.done >= (steps[at - 1]?.done ?? 0)),
    'never backwards',
  )
  t.ok(steps.every(({ done, total }) => done <= total && total === steps[0]?.total))
  t.equal(steps.at(-1)?.done, steps.at(-1)?.total)
})

t.test('verify - lets the event loop turn while it works', async t => {
  let turns = 0
  let isDone = false
  const spin = (): void => {
    turns += 1
    if (!isDone) setImmediate(spin)
  }
  spin()
  await verifyJournal({ eventsDir: events })
  isDone = true
  t.ok(turns > 50, `${turns} turns`)
})

t.test('verify - stops at a signal', async t => {
  for (const pass of [verifyJournal, statsJournal] as ((options: PassOptions) => Promise<unknown>)[]) {
    const aborted = AbortSignal.abort(new Error('before'))
    await t.rejects(pass({ eventsDir: events, signal: aborted }), { message: 'before' })
    const controller = new AbortController()
    const onProgress = (): void => controller.abort(new Error('midway'))
    await t.rejects(pass({ eventsDir: events, signal: controller.signal, onProgress }), { message: 'midway' })
  }
})

t.test('verify - holds the state and never the bytes (OB-68)', async t => {
  let peak = 0
  collect()
  const before = process.memoryUsage()
  const onProgress = (): void => {
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    peak = Math.max(peak, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers)
  }
  const verdict = await verifyJournal({ eventsDir: events, onProgress })
  t.ok(verdict.bytes > 20_000_000)
  t.ok(peak < 40_000_000, `${peak} bytes`)
})

t.test('stats - counts what a journal holds', async t => {
  const journal = new JournalMaker()
  journal.add({ event: 'new' })
  const foreign = journal.build({ item_type: '__proto__', action: 'invent', agent: 'argus' })
  journal.line(`${JSON.stringify(foreign)}\n`, foreign.seq)
  journal.apply(foreign)
  journal.add({ action: 'assignment_moved', item_type: 'assignment' })
  journal.roll()
  journal.checkpoint()
  journal.add({ action: 'delete', item_id: 'river/2' })
  journal.line('no record\n')
  journal.line('{"v":3}\n')
  journal.run(3, 1)
  journal.add({ payload: { schema_version: 1, long: 'x'.repeat(999) } })
  const [parked = ''] = journal.park(2, true)
  const dir = journal.write(join(t.testdir(), 'events'))
  const counted = await statsJournal({ eventsDir: dir })
  if (!counted.ok) throw new Error(counted.code)
  const stats = counted.value
  t.match(stats, {
    records: 9,
    first_seq: 1,
    head_seq: 9,
    first_ts: '2026-06-10T14:00:00.000Z',
    last_ts: '2026-06-10T14:07:00.000Z',
    by_action: { create: 3, journal_note: 2, assignment_moved: 1, checkpoint_ref: 1, delete: 1, invent: 1 },
    by_class: { 'entity-state': 3, 'journal-meta': 3, 'registry-lifecycle': 1, tombstone: 1, unknown: 1 },
    by_persona: { river: 5, argus: 1 },
    live_segments: 1,
    archived_segments: 1,
    largest_record: { seq: 9, segment: segmentName(5) },
    malformed: 1,
    future: 1,
    without_effect: 1,
    unreadable: [],
    checkpoints: [{ file: 'ckpt-00000004.json', head_seq: 4, place: 'live' }],
  })
  t.strictSame(Object.entries(stats.by_item_type), [
    ['message', 4],
    ['journal', 3],
    ['__proto__', 1],
    ['assignment', 1],
  ])
  t.match(statsText(stats, dir), / 9 \(seq 1 to 9\), 1 of them without effect/)
  t.ok(stats.bytes > stats.stored_bytes, 'packed segments count unpacked')

  writeFileSync(join(dir, parked), 'no gzip')
  const damaged = await statsJournal({ eventsDir: dir })
  t.match(damaged, { ok: true, value: { unreadable: [segmentName(1)], records: 5 } })
  t.match(await statsJournal({ eventsDir: join(dir, 'none') }), { ok: false, reason: 'absent' })
})

t.test('verify - a directory that is not there, and one that is none', async t => {
  t.match(await verifyJournal({ eventsDir: join(events, 'none') }), { exit: 4, findings: {}, records: 0 })
  const file = join(t.testdir({ file: '' }), 'file')
  t.match(await verifyJournal({ eventsDir: file }), { exit: 4, findings: {}, hint: /name the directory/ })
})
