import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'
import { mail, runningPersona } from '../kit/drafts.js'
import { line, tail, write } from './kim-tail-process.js'

/** Two inboxes as the producer leaves them after first contact and some mail. */
function makeStore(root: string): string {
  const store = join(root, 'store')
  const journal = openJournal({ storeDir: store, source: 'http://localhost:7474' })
  journal.append([
    runningPersona('river', { floor: 100, unread_urgent: 1 }),
    runningPersona('argus', { floor: 10, unread_urgent: 1 }),
    { ...mail('argus', 200, { from: 'river' }), summary: 'from river' },
    { ...mail('river', 201, { from: 'argus' }), summary: 'from argus' },
    {
      ...mail('river', 202, { from: 'loom', read: true }),
      action: 'create',
      event: 'new',
      summary: 'from loom',
    },
  ])
  journal.close()
  return store
}

t.test('kim-tail activity - CL-33 three answers, three codes, everything else is 2', async t => {
  const root = t.testdir()
  const store = makeStore(root)
  const ask = (...args: string[]): number | null => tail(root, ['activity', ...args, '--store', store]).code
  t.equal(ask('river', '--since-id', '150'), 0)
  t.equal(ask('river', '--since-id', '200'), 1)
  t.equal(ask('nobody', '--since-id', '150'), 1)
  t.equal(ask('nobody', '--since-id', '50'), 2)
  t.equal(ask('river', '--since-id', '50'), 0)
  t.equal(ask('river'), 2)
  t.equal(ask('river', '--since-id', 'x'), 2)
  t.equal(
    tail(root, ['activity', 'river', '--since-id', '1', '--store', join(root, 'none')]).code,
    2,
    'no store',
  )
  const garbage = write(join(root, 'garbage'), { 'events/seg-00000001.jsonl': 'garbage\n' })
  t.equal(tail(root, ['activity', 'river', '--since-id', '1', '--store', garbage]).code, 2)
  t.match(
    JSON.parse(tail(root, ['activity', 'river', '--since-id', '150', '--store', store, '--json']).stdout),
    {
      answer: 'yes',
      last_id: 200,
      floor: 100,
    },
  )
})

t.test('kim-tail personas - lists who is there', async t => {
  const root = t.testdir()
  const store = makeStore(root)
  const { code, stdout } = tail(root, ['personas', '--store', store])
  t.equal(code, 0)
  t.equal(
    stdout,
    'argus  1 unread in the journal, 1 urgent on the server, newest 200 from river, up\nriver  1 unread in the journal, 1 urgent on the server, newest 202 from loom, up\n',
  )
  const rows = tail(root, ['personas', '--store', store, '--json']).stdout.trim().split('\n')
  t.match(JSON.parse(rows[1] ?? ''), { persona: 'river', unread: 1, newest_id: 202, open_alerts: [] })
  t.equal(tail(root, ['personas', '--store', join(root, 'none')]).code, 4)
})

t.test('kim-tail status - four facts, kept apart; --check is about the producer alone', async t => {
  const root = t.testdir()
  const store = makeStore(root)
  const status = (...args: string[]): ReturnType<typeof tail> =>
    tail(root, ['status', '--store', store, ...args])
  tail(root, ['--store', store, '--consumer', 'session', '--start', 'earliest', '-c', '1'])
  const report = JSON.parse(status('--json', '-p', 'river').stdout) as Record<string, unknown>
  t.match(report, {
    personas: [{ persona: 'river', unread: 1 }],
    others: { personas: 1, unread: 1 },
    producer: { state: 'unknown' },
    consumers: [{ consumer: 'session', in_use: false }],
    journal: { kind: 'live', reasons: [] },
  })
  t.match(status('-p', 'rivr'), { code: 4, stderr: /did you mean river\?/ })
  t.match(status().stdout, /^journal .*\nproducer {2}unknown .*\npersona {3}argus: 1 unread in the journal,/)
  t.match(
    status().stdout,
    /\nconsumer {2}session: at seq \d+; \d+ records of all personas follow, not in use\n/,
  )
  tail(root, ['cursors', 'set', 'session', '--head', '--store', store])
  const other = write(join(root, 'other'), { 'events/seg-00000001.jsonl': line(1) })
  t.match(
    tail(root, ['status', '--consumer', 'session', '--store', other]).stdout,
    /\nconsumer {2}session: at seq \d+ of another journal, not in use\n/,
  )
  t.equal(status('--check').code, 8, 'it cannot be told')
  const health = join(store, 'run/health.json')
  mkdirSync(join(store, 'run'), { recursive: true })
  writeFileSync(health, JSON.stringify({ pid: process.pid }))
  t.equal(status('--check').code, 0)
  t.match(JSON.parse(status('--json').stdout), { producer: { state: 'up' } })
  const old = new Date(Date.now() - 3_600_000)
  utimesSync(health, old, old)
  t.equal(status('--check').code, 7)
  t.equal(tail(root, ['status', '--check', '--events', join(store, 'events')]).code, 8)
  t.equal(tail(root, ['status', '--store', join(root, 'none')]).code, 4)
})

t.test('kim-tail status - says what a reader knows to be missing', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000005.jsonl': `${line(5)}{"v":3}\n` })
  t.match(
    tail(root, ['status', '--store', store]).stdout,
    /, some records are of a later version, older records are missing, head 5\n/,
  )
  t.equal(tail(root, ['activity', 'argus', '--since-id', '9', '--store', store]).code, 2)
})
