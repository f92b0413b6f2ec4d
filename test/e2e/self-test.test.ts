import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { serve } from './loopback-server.js'

const bin = join(
  dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))),
  'producer/bin/kim-producer.js',
)

interface Ran {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

async function selfTest(home: string, ...flags: string[]): Promise<Ran> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    XDG_STATE_HOME: join(home, 'state'),
    TMPDIR: home,
  }
  const child = spawn(process.execPath, [bin, 'self-test', ...flags], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', chunk => {
    out += String(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', chunk => {
    err += String(chunk)
  })
  return { code: await new Promise(resolve => child.on('close', resolve)), out, err }
}

/** A server whose inboxes hold mail, and every path it was asked for. */
async function kijito(t: Test, asked: string[]): Promise<string[]> {
  return serve(t, path => {
    asked.push(path)
    if (path.startsWith('/api/personas')) {
      return { status: 200, body: { result: [{ persona: 'river' }, { persona: 'argus' }] } }
    }
    if (path.includes('persona=argus')) return { status: 500, body: {} }
    return {
      status: 200,
      body: {
        result: [{ id: 1, from: 'argus', content: 'x', created: '2026-06-10T14:03:22Z', read: false }],
      },
    }
  })
}

t.test('self-test - M1 KS-86 the whole way once, and nothing is left behind', async t => {
  const asked: string[] = []
  const flags = await kijito(t, asked)
  const home = t.testdir()
  const events = join(home, 'events.ndjson')
  const { code, out } = await selfTest(home, ...flags, '-p', 'river', '--events-file', events)
  t.equal(code, 0, out)
  t.equal(out.match(/^ok {4}/gm)?.length, 4, out)
  const lines = readFileSync(events, 'utf8').trimEnd().split('\n')
  t.equal(lines.length, 1)
  t.match(
    JSON.parse(lines[0] ?? ''),
    { event: 'heartbeat', wake_class: 'liveness' },
    'no reader wakes for it',
  )
  t.equal(asked.length, 1, 'no counts, no second page')
  t.match(asked[0], /^\/api\/inbox\?.*mark_read=false/)
  t.notOk(existsSync(join(home, 'state')), 'no store, no watermark')
  t.same(readdirSync(home), ['events.ndjson'], 'its own journal is gone')
})

t.test('self-test - M2 KS-86 a server that fails fails it, whatever it says', async t => {
  for (const status of [500, 404, 401]) {
    const flags = await serve(t, () => ({ status, body: {} }))
    const { code, out } = await selfTest(t.testdir(), ...flags, '-p', 'river')
    t.equal(code, 1, `${status}`)
    t.match(out, /^fail {2}inbox {4}river: /m, `${status}`)
    t.equal(out.match(/^ok {4}/gm)?.length, 2, 'the rest is still tried')
  }
})

t.test('self-test - M4 KS-86 a directory that fails fails it', async t => {
  const asked: string[] = []
  const flags = await serve(t, path => {
    asked.push(path)
    return { status: 500, body: {} }
  })
  const { code, out } = await selfTest(t.testdir(), ...flags)
  t.equal(code, 1, out)
  t.match(out, /^fail {2}inbox {4}the list of personas: /m)
  t.notOk(asked.some(path => path.startsWith('/api/inbox')))
})

t.test('self-test - M5 KS-86 two inboxes are each reported', async t => {
  const flags = await kijito(t, [])
  const { code, out } = await selfTest(t.testdir(), ...flags, '-p', 'argus', '-p', 'river')
  t.equal(code, 1)
  t.match(out, /^fail {2}inbox {4}argus: .*\nok {4}inbox {4}river: 1 message shown/m)
})

t.test('self-test - M6 KS-86 a producer at work is not disturbed, and does not disturb', async t => {
  const flags = await kijito(t, [])
  const home = t.testdir()
  const storeDir = join(home, 'store')
  const journal = openJournal({ storeDir, source: flags[1] ?? '' })
  t.teardown(() => journal.close())
  const before = readdirSync(storeDir, { recursive: true }).sort()
  const { code, out } = await selfTest(home, ...flags, '-p', 'river', '--store', storeDir)
  t.equal(code, 0, out)
  t.same(readdirSync(storeDir, { recursive: true }).sort(), before)
  t.equal(journal.head.seq, 1)
})

t.test('self-test - M5 one inbox that fails fails it, and the rest is still tried', async t => {
  const flags = await kijito(t, [])
  const { code, out } = await selfTest(t.testdir(), ...flags, '--json')
  t.equal(code, 1)
  const { ok, results } = JSON.parse(out) as {
    ok: boolean
    results: { part: string; name: string; ok: boolean }[]
  }
  t.equal(ok, false)
  t.same(
    results.map(({ part, name, ok }) => [part, name, ok]),
    [
      ['inbox', 'river', true],
      ['inbox', 'argus', false],
      ['journal', 'append', true],
      ['reader', 'follow', true],
    ],
  )
})

t.test('self-test - M3 KS-86 a sink that does not take it fails it', async t => {
  const flags = await kijito(t, [])
  const sink = [
    '--emit',
    'exec-per-event',
    '--exec',
    'test "$KIJITOMON_EVENT" = heartbeat && echo no mail today && exit 3',
  ]
  const { code, out, err } = await selfTest(t.testdir(), ...flags, '-p', 'river', ...sink)
  t.equal(code, 1)
  t.match(out, /^fail {2}sink {5}exec-per-event: .*3/m)
  t.match(err, 'the command printed output: no mail today\n')
  const well = await selfTest(
    t.testdir(),
    ...flags,
    '-p',
    'river',
    '--emit',
    'exec-per-event',
    '--exec',
    'true',
  )
  t.equal(well.code, 0, well.out)
})

/** A server that knows river and argus; every inbox is empty. */
const quietHive = (t: Test, asked: string[] = []): Promise<string[]> =>
  serve(t, path => {
    asked.push(path)
    const rows = path.startsWith('/api/personas') ? [{ persona: 'river' }, { persona: 'argus' }] : []
    return { status: 200, body: { result: rows } }
  })

t.test(
  'self-test - KS-92 an inbox that the directory does not list is a warning with the nearest name',
  async t => {
    const asked: string[] = []
    const flags = await quietHive(t, asked)
    const { code, out } = await selfTest(
      t.testdir(),
      ...flags,
      '-p',
      'rivr',
      '-p',
      'argus',
      '-p',
      'river\\,argus',
    )
    t.equal(code, 0, 'an empty inbox is healthy')
    t.match(
      out,
      /^warn {2}inbox {4}rivr: 0 messages shown; .*did you mean river\? \(.*\n {6}check the name \(exact case\)/m,
    )
    t.match(out, /^ok {4}inbox {4}argus: 0 messages shown \(/m)
    t.match(out, /^warn {2}inbox {4}river,argus: .*\n {6}.*--persona river --persona argus$/m)
    t.equal(asked.filter(path => path.startsWith('/api/personas')).length, 1, 'one look for all of them')
    const json = JSON.parse((await selfTest(t.testdir(), ...flags, '-p', 'rivr', '--json')).out) as object
    t.match(json, { ok: true, results: [{ name: 'rivr', ok: true, warning: /did you mean river\?$/ }] })
  },
)

t.test('self-test - KS-51 a failure comes with what to do about it', async t => {
  const nobody = ['--url', 'http://127.0.0.1:1', '--dialect', 'local', '--allow-loopback']
  const { code, out } = await selfTest(t.testdir(), ...nobody, '-p', 'river')
  t.equal(code, 1)
  t.match(
    out,
    /^fail {2}inbox {4}river: unreachable: .*\n {6}start Kijito at http:\/\/127\.0\.0\.1:1, .*--url$/m,
  )
})

t.test('self-test - KS-51 https to a plain http server differs from no server at all', async t => {
  const flags = (await quietHive(t)).map(flag => flag.replace('http:', 'https:'))
  const { code, out } = await selfTest(t.testdir(), ...flags, '-p', 'river')
  t.equal(code, 1)
  t.match(
    out,
    /\n {6}the server at https:\/\/\S+ does not use https: check http or https and the port in --url/,
  )
})
