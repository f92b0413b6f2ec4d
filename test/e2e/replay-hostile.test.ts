import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bin, replay } from './replay-store.js'

const scratch = t.testdir()
const out = (name: string): string => join(scratch, name)

const FORGED = 'FORGED LINE: all is well'
/** A name and a reason as nobody should send them. */
const NAME = `a\n${FORGED}`
const REASON = `refused\r\n${FORGED}\u001b[2J\u0000\u202e\u2028\u009b`

const events = out('events')
mkdirSync(events)
const lines = [
  {
    item_type: 'message',
    item_id: `${NAME}/1`,
    event: 'new',
    summary: REASON,
    payload: {
      schema_version: 1,
      persona: NAME,
      id: 1,
      from: NAME,
      content: REASON,
      content_length: 9,
      read: false,
    },
  },
  {
    item_type: 'alert',
    item_id: `${NAME}/unreachable`,
    event: 'alert',
    payload: { schema_version: 1, persona: NAME, kind: REASON, status: 'open', reason: REASON },
  },
].map((members, i) => ({
  ...{ v: 2, seq: i + 1, ts: `2026-06-10T14:00:0${i}.000Z`, writer: 'w_1-aa', agent: NAME, action: 'create' },
  ...members,
}))
writeFileSync(join(events, 'seg-00000001.jsonl'), lines.map(line => `${JSON.stringify(line)}\n`).join(''))

const asks: readonly (readonly string[])[] = [
  ['at', '--seq', '2'],
  ['diff', '--from', '0', '--to', 'end'],
  ['find', '--all', '--until', 'entities > 0'],
  ['explain', '1'],
  ['explain', '2'],
  ['stats'],
  ['timeline', '--title', NAME, '--out', out('t.html')],
]

/** Characters that nothing but a file's own form may hold. */
const RAW = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202e]/

t.test('CL-9 kim-replay - no text of a journal begins a line or moves a cursor', async t => {
  for (const args of asks) {
    const { code, out: text, err } = replay([...args, '--events', events])
    t.equal(code, 0, `${args[0]}: ${err}`)
    t.notMatch(text, /^\W*FORGED/m, `${args[0]}: begins no line`)
    t.notMatch(text, RAW, `${args[0]}`)
  }
  const { err } = replay(['at', '--seq', '2', '-p', NAME.toUpperCase(), '--events', events])
  t.notMatch(err, /^\W*FORGED/m, 'nor in what an error names')
})

t.test('CL-9 kim-replay - JSON carries such text in escapes, and as the same value', async t => {
  for (const args of asks.slice(0, 6)) {
    const { out: text } = replay([...args, '--json', '--events', events])
    t.notMatch(text, RAW, `${args[0]}`)
    t.ok(JSON.stringify(JSON.parse(text)).includes(FORGED), `${args[0]}`)
  }
})

t.test('CL-9 verify - what a manifest says of itself begins no line', async t => {
  const unpacked = out('unpacked')
  mkdirSync(join(unpacked, 'events'), { recursive: true })
  const range = { from_seq: 1, to_seq: 1, from_ts: null, to_ts: null }
  const manifest = { bundle: 1, created: null, files: [], project_id: NAME, range, records: 0, redact: NAME }
  writeFileSync(join(unpacked, 'bundle.json'), JSON.stringify(manifest))
  t.notMatch(replay(['verify', unpacked]).out, /^\W*FORGED/m)
})

t.test('CL-49 CSV - a row is one line, whatever stands in it', async t => {
  const file = out('t.csv')
  t.equal(replay(['timeline', '-o', 'csv', '--redact', 'none', '--out', file, '--events', events]).code, 0)
  const rows = readFileSync(file, 'utf8').split('\r\n')
  t.equal(rows.length, 6, 'a head, a run, an alert, two marks and nothing after the last end')
  for (const row of rows) t.notMatch(row, RAW)
})

t.test(
  'CL-63 stdout - what it does not take is an error',
  { skip: !existsSync('/dev/full') && 'no /dev/full' },
  async t => {
    const stdio: ['ignore', number, 'pipe'] = ['ignore', openSync('/dev/full', 'w'), 'pipe']
    for (const args of [['stats'], ['at', '--seq', '2', '--json'], ['play', '--speed', 'max']]) {
      const { status, stderr } = spawnSync(process.execPath, [bin, ...args, '--events', events], {
        stdio,
        encoding: 'utf8',
      })
      t.equal(status, 1)
      t.match(
        stderr,
        /^kim-replay: cannot write to stdout: .*ENOSPC.*\n {2}the output is incomplete/,
        `${args[0]}`,
      )
    }
  },
)
