/** What is missing up to the moment that is asked about, not only before the last record that counts. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { copyOf, replay, segmentsOf, writeStore } from './replay-store.js'

const scratch = t.testdir()
const whole = writeStore(join(scratch, 'store'), 120, false)
const segments = segmentsOf(whole)
const at = Math.floor(segments.length / 2)
const gone = segments[at] as string
const seqsOf = (name: string): { readonly seq: number; readonly ts: string }[] =>
  readFileSync(join(whole, name), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as { readonly seq: number; readonly ts: string })
const lost = seqsOf(gone)
const first = lost[0]?.seq ?? 0
const last = lost.at(-1)?.seq ?? 0
const middle = lost[Math.floor(lost.length / 2)]?.seq ?? 0

/** Without checkpoints every answer has to be read from the lines. */
function without(name: string, ...files: readonly string[]): string {
  const copy = copyOf(whole, join(scratch, name))
  for (const file of ['checkpoints', ...files]) rmSync(join(copy, file), { recursive: true, force: true })
  return copy
}

const cut = without('cut', gone)

t.test('CL-58 at, diff, play - a moment inside of what is missing says so', async t => {
  const missing = `seq ${first}…${middle} missing`
  const state = replay(['at', '--seq', String(middle), '--json', '--events', cut])
  t.equal(state.code, 5)
  t.match(JSON.parse(state.out), {
    at: { seq: first - 1 },
    missing: { seq_hole: { count: 1, examples: [{ detail: missing }] } },
  })
  for (const args of [
    ['at', '--seq', String(middle)],
    ['diff', '--from', '5', '--to', String(middle)],
    ['play', '--speed', 'max', '--to-seq', String(middle)],
  ]) {
    const ran = replay([...args, '--events', cut])
    t.equal(ran.code, 5, args.join(' '))
    t.match(ran.out + ran.err, missing)
    t.equal(replay([...args, '--events', whole]).code, 0)
  }
})

t.test(
  'CL-58 at - what lies before the hole, and behind the record that was named, is not missing',
  async t => {
    t.equal(replay(['at', '--seq', String(first - 1), '--events', cut]).code, 0)
    t.equal(replay(['at', '--event-id', String(first - 1), '--events', cut]).code, 0)
  },
)

t.test('CL-58 at - a time may be one of what is missing', async t => {
  const copy = without('timed', gone)
  // One minute apart, so that a time names a place.
  let minute = 0
  for (const name of segmentsOf(copy)) {
    const lines = readFileSync(join(copy, name), 'utf8')
      .split('\n')
      .map(line => {
        minute += name === gone ? 0 : 1
        const ts = new Date(Date.UTC(2026, 5, 10, 0, minute)).toISOString()
        return line.replace(/"ts":"[^"]*"/, `"ts":"${ts}"`)
      })
    writeFileSync(join(copy, name), lines.join('\n'))
  }
  const held = seqsOf(segments[at - 1] as string).length
  t.ok(held > 0)
  const behind =
    readFileSync(join(copy, segments[at - 1] as string), 'utf8')
      .trimEnd()
      .split('\n')
      .at(-1) ?? ''
  const { ts } = JSON.parse(behind) as { readonly ts: string }
  const ran = replay(['at', '--time', ts, '--events', copy])
  t.equal(ran.code, 5)
  t.match(ran.out, `seq ${first}…${last} missing`)
})

t.test('CL-58 at - the records of a run that is not complete yet are not missing', async t => {
  const runs = seqsOf(segments[0] as string).filter(record => 'tx' in record)
  const inside = runs.find(record => (record as unknown as { tx: { i: number } }).tx.i === 1)
  const ran = replay(['at', '--seq', String(inside?.seq), '--events', without('runs')])
  t.equal(ran.code, 0)
  t.notMatch(ran.out, /missing/)
})

t.test('CL-58 kim-replay - a folder and a file that cannot be looked into are named', async t => {
  const folder = without('folder', gone)
  rmSync(join(folder, 'archive'), { recursive: true, force: true })
  writeFileSync(join(folder, 'archive'), 'no folder')
  const barred = without('barred', gone)
  mkdirSync(join(barred, gone))
  for (const [events, name] of [
    [folder, 'archive'],
    [barred, gone],
  ] as const) {
    t.equal(replay(['verify', '--events', events]).code, 6)
    for (const args of [
      ['at', '--seq', '100000'],
      ['diff', '--from', '5', '--to', 'end'],
      ['find', '--until', 'seq > 100000'],
      ['explain', 'river:new:119'],
      ['play', '--speed', 'max'],
      ['stats'],
    ]) {
      const ran = replay([...args, '--events', events])
      t.equal(ran.code, 6, `${args[0]}: ${name}`)
      t.match(ran.out + ran.err, /unreadable/)
      t.match(ran.out + ran.err, name)
    }
  }
  t.equal(replay(['at', '--seq', String(first - 1), '--events', barred]).code, 0, 'before it')
  rmSync(join(folder, segments[0] as string))
  const early = replay(['at', '--seq', '1', '--events', folder])
  t.equal(early.code, 6, 'what may stand in it is not said to be gone')
  t.match(early.err, /archive cannot be read \(ENOTDIR\)/)
})

t.test('CL-61 digest - says what it met, and exits 6 only for what could not be read', async t => {
  const copy = without('lines')
  t.same(replay(['digest', '--events', copy]).err, '')
  const damaged = readFileSync(join(copy, gone), 'latin1').split('\n')
  damaged[1] = 'no record'
  writeFileSync(join(copy, gone), damaged.join('\n'), 'latin1')
  const met = replay(['digest', '--events', copy])
  t.equal(met.code, 0)
  t.match(met.err, /the digest covers only what could be read: .*malformed/)
  t.equal(replay(['digest', '--cold', '--events', copy]).err, '')
  rmSync(join(copy, gone))
  mkdirSync(join(copy, gone))
  const barred = replay(['digest', '--events', copy])
  t.equal(barred.code, 6)
  t.match(barred.err, /unreadable × 1/)
  t.match(JSON.parse(barred.out), { head_seq: Number })
})

t.test('CL-58 kim-replay - a directory that may not be read is no empty journal', async t => {
  const closed = copyOf(whole, join(scratch, 'closed'))
  chmodSync(closed, 0)
  t.teardown(() => chmodSync(closed, 0o755))
  // Nothing is closed to root.
  const uid = process.getuid?.() === 0 ? 65_534 : undefined
  for (const args of [
    ['at', '--seq', '5'],
    ['diff', '--from', '1', '--to', 'end'],
    ['find', '--until', 'seq > 3'],
    ['explain', '5'],
    ['play', '--speed', 'max'],
    ['timeline', '--out', join(scratch, 't.html')],
    ['stats'],
    ['digest'],
  ]) {
    const ran = replay([...args, '--events', closed], { uid })
    t.equal(ran.code, 77, args.join(' '))
    t.match(ran.err, /EACCES/)
  }
  t.ok(readdirSync(scratch).includes('closed'))
})

t.test('CL-58 kim-replay - a persona that only missing records know is not called unknown', async t => {
  const events = join(scratch, 'unheard')
  mkdirSync(join(events, 'archive'), { recursive: true })
  const line = (persona: string, seq: number): string =>
    `${JSON.stringify({
      ...{ v: 2, seq, ts: `2026-06-10T14:00:${seq}.000Z`, writer: 'w_1-aa', agent: persona },
      ...{ action: 'create', event: 'new', item_type: seq === 12 ? 'widget' : 'message' },
      ...{ item_id: `${persona}/${seq}`, payload: { schema_version: 1, persona, id: seq, read: false } },
    })}\n`
  const genesis = { kind: 'genesis', project_id: 'c0ffee00c0ffee00c0ffee00c0ffee00' }
  writeFileSync(
    join(events, 'seg-00000010.jsonl'),
    `${JSON.stringify({ v: 2, seq: 10, action: 'journal_note', agent: 'kim', item_type: 'journal', payload: genesis })}\n${line('argus', 11)}`,
  )
  writeFileSync(join(events, 'seg-00000012.jsonl'), line('river', 12))
  writeFileSync(join(events, 'seg-00000013.jsonl'), line('argus', 13))
  writeFileSync(join(events, 'archive', 'seg-00000001.jsonl.gz'), 'cut short')
  const asks = [
    ['find', '--until', 'persona.river.unread > 0'],
    ['find', '--until', 'count.widget > 0'],
    ['at', '--seq', '13', '-p', 'river'],
    ['diff', '--from', '11', '--to', 'end', '-p', 'river'],
    ['play', '--speed', 'max', '-p', 'river'],
    ['timeline', '--out', join(scratch, 'unheard.html'), '-p', 'river'],
  ]
  const early = [
    ['at', '--time', '2026-06-10T13:00:00Z'],
    ['at', '--event-id', 'loom:new:1'],
    ['at', '--seq', '5'],
  ]
  for (const args of asks) t.not(replay([...args, '--events', events]).code, 4, 'it is known')
  for (const args of early) {
    const { code, err } = replay([...args, '--events', events])
    t.equal(code, 6, args.join(' '))
    t.match(err, /unreadable: seg-00000001\.jsonl: bad_gzip/)
  }
  rmSync(join(events, 'archive'), { recursive: true })
  for (const args of early.slice(0, 2)) {
    const { code, err } = replay([...args, '--events', events])
    t.equal(code, 5, args.join(' '))
    t.match(err, /the readable part of the journal.*\n.*history_starts_at/)
  }
  writeFileSync(
    join(events, 'seg-00000001.jsonl'),
    Array.from({ length: 9 }, (_, i) => line('argus', i + 1)).join(''),
  )
  rmSync(join(events, 'seg-00000012.jsonl'))
  for (const args of asks) {
    const { code, err } = replay([...args, '--events', events])
    t.equal(code, 5, args.join(' '))
    t.match(
      err,
      /the readable part of the journal .*(river|widget).*\n.*seq_hole: seq 12 missing; find the damage: kim-replay verify/,
    )
  }
  writeFileSync(join(events, 'seg-00000012.jsonl'), line('argus', 12))
  for (const args of asks.slice(2)) {
    const { code, err } = replay([...args, '--events', events])
    t.equal(code, 4, args.join(' '))
    t.match(err, /the journal knows no persona river/)
  }
})
