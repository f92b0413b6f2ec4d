import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '@kim/manifest'
import { type Draft, openJournal } from '@kim/producer/internal'
import t from 'tap'
import { FakeSupervisor } from '../kit/fake-supervisor.js'
import { refusedWatch } from '../kit/kijito/preloads.js'
import { bin, healthy, Machine, message, type Seen, unreadRow } from './doctor-machine.js'
import { serve } from './loopback-server.js'

t.test('doctor - a store that is well', async t => {
  const machine = new Machine(t).fill()
  for (const id of [
    'store',
    'store-modes',
    'store-writable',
    'journal',
    'numbers',
    'source',
    'token',
    'inboxes',
    'sinks',
    'consumers',
  ]) {
    const seen = await machine.look(t, id)
    t.equal(seen.status, 'ok', `${id}: ${seen.evidence}`)
    t.equal(seen.remedy, null)
  }
})

t.test('doctor - a token that is not there, open to others, or none', async t => {
  const machine = new Machine(t)
  const hosted = ['--url', 'https://api.kijito.ai']
  t.match(await machine.look(t, 'token', ...hosted), { status: 'fail', remedy: /--token-file|KIM_TOKEN/ })
  const file = join(machine.home, 'token')
  const flags = [...hosted, '--token-file', file]
  t.match(await machine.look(t, 'token', ...flags), {
    status: 'fail',
    evidence: /cannot read the token file/,
  })
  writeFileSync(file, 'kjt_0123456789abcdef0123\n', { mode: 0o644 })
  const open = await machine.look(t, 'token', ...flags)
  t.match(open, { status: 'fail', evidence: /accessible to other users/ })
  t.notMatch(JSON.stringify(open), /kjt_/, 'it is never shown')
  t.match(await machine.look(t, 'token', ...flags, '--fix'), { status: 'fail', fixed: true })
  t.not((await machine.look(t, 'token', ...flags)).status, 'fail')
  writeFileSync(file, 'two words\n')
  const words = await machine.look(t, 'token', ...flags)
  t.match(words, { status: 'fail', evidence: /printable ASCII/ })
  t.notMatch(JSON.stringify(words), /two words/)
})

t.test('doctor - a token says from where it is read, and no token what it leaves open', async t => {
  const machine = new Machine(t)
  t.match(await machine.look(t, 'token'), {
    status: 'ok',
    evidence: 'no token is set; the check server shows whether http://localhost:7474 needs one',
  })
  machine.env['KIM_TOKEN'] = 'demo'
  t.match(await machine.look(t, 'token'), {
    status: 'ok',
    evidence: 'read from $KIM_TOKEN of this shell; an installed service does not see it',
  })
})

t.test('doctor - a server that is down, refuses, leads elsewhere, or is none', async t => {
  const machine = new Machine(t).fill()
  const answers = { status: 200, body: {} as unknown }
  const flags = await serve(t, path => (answers.status === 200 ? healthy(path) : answers))
  const down = ['--url', 'http://127.0.0.1:9', '--allow-loopback', '--dialect', 'local']
  t.match(await machine.look(t, 'server', ...down), {
    status: 'fail',
    remedy: /^start Kijito at http:\/\/127\.0\.0\.1:9,/,
  })
  for (const [status, remedy] of [
    [401, /token/],
    [403, /auth-header/],
    [404, /check --url/],
    [302, /redirects/],
    [500, /log of the server/],
  ] as const) {
    answers.status = status
    t.match(await machine.look(t, 'server', ...flags), { status: 'fail', remedy }, String(status))
  }
  answers.status = 200
  t.match(await machine.look(t, 'server', ...flags), { status: 'ok', evidence: /2 personas/ })
  const [, url = ''] = flags
  t.match(await machine.look(t, 'server', '--url', url, '--dialect', 'local'), {
    status: 'fail',
    remedy: /--allow-loopback/,
  })
})

t.test('doctor - a misspelt inbox, and mail that is not here yet', async t => {
  const machine = new Machine(t).fill({
    agent: 'river',
    action: 'create',
    item_type: 'persona',
    item_id: 'river',
    summary: 'river',
    payload: { schema_version: 1, persona: 'river', cursor: 6, floor: 1, state: 'up', watched: true },
  })
  const flags = await serve(t, healthy)
  t.match(await machine.look(t, 'personas', ...flags, '-p', 'rivre'), { status: 'warn', evidence: /river/ })
  t.match(await machine.look(t, 'personas', ...flags, '-p', 'river'), { status: 'ok' })
  t.match(await machine.look(t, 'backlog', ...flags), {
    status: 'warn',
    evidence: 'river: 9 unread on the server, 6 in the journal',
    remedy: /^start it: kim-producer run --store .*; if more than 50 messages wait .*--max-replay N$/,
  })
  const holder = openJournal({ storeDir: machine.store })
  t.match(await machine.look(t, 'backlog', ...flags), { status: 'warn', remedy: /kim-producer poke/ })
  holder.close()
  for (const [floor, status] of [
    [5, 'warn'],
    [4, 'ok'],
  ] as const) {
    // Six stand here: of seven that were not shown, those below the floor had been shown before.
    const payload = {
      schema_version: 1,
      persona: 'river',
      kind: 'unread-not-shown',
      status: 'open',
      reason: 'r',
    }
    const hidden = new Machine(t).fill(
      {
        agent: 'river',
        action: 'create',
        item_type: 'persona',
        item_id: 'river',
        summary: 'river',
        payload: { schema_version: 1, persona: 'river', cursor: 6, floor: 1, state: 'up', watched: true },
      },
      {
        agent: 'river',
        action: 'create',
        item_type: 'alert',
        item_id: 'river/unread-not-shown',
        summary: 'r',
        payload: {
          ...payload,
          unread_not_shown: 6,
          window_floor: floor,
          cursor_at: 6,
          above_watermark: false,
        },
      },
    )
    t.match(await hidden.look(t, 'backlog', ...flags), { status }, `floor ${floor}`)
  }
})

t.test(
  'doctor - as much unread mail at the server as in the journal, and another message (CL-54)',
  async t => {
    const machine = new Machine(t).fill({
      agent: 'river',
      action: 'create',
      item_type: 'persona',
      item_id: 'river',
      summary: 'river',
      payload: { schema_version: 1, persona: 'river', cursor: 6, floor: 1, state: 'up', watched: true },
    })
    const shown = { unread: 6, ids: [1, 2, 3, 4, 5, 6], status: 200 }
    const flags = await serve(t, path => {
      if (path.startsWith('/api/inbox'))
        return { status: shown.status, body: { result: shown.ids.map(unreadRow) } }
      return { status: 200, body: { result: [{ persona: 'river', unread: shown.unread }] } }
    })
    t.match(await machine.look(t, 'backlog', ...flags), {
      status: 'ok',
      evidence: 'the journal has the unread messages that 1 inbox showed',
    })
    shown.ids = [2, 3, 4, 5, 6, 7]
    t.match(await machine.look(t, 'backlog', ...flags), {
      status: 'warn',
      evidence: 'river: message 7 is unread at the server and not in the journal',
    })
    shown.status = 500
    t.match(await machine.look(t, 'backlog', ...flags), {
      status: 'unknown',
      evidence: /cannot be polled: http 500/,
    })
    shown.unread = 0
    t.match(await machine.look(t, 'backlog', ...flags), {
      status: 'ok',
      evidence: 'the server counts no unread mail',
    })
  },
)

t.test(
  'doctor - of many inboxes with unread mail the first 50 are polled, the others counted (CL-54)',
  async t => {
    const names = Array.from({ length: 51 }, (_, n) => `loom-${n}`)
    const of = (item_type: string, item_id: string, agent: string, payload: JsonObject): Draft => ({
      ...{ agent, action: 'create', item_type, item_id, summary: item_id },
      payload: { schema_version: 1, persona: agent, ...payload },
    })
    const drafts = names.flatMap(name => [
      of('persona', name, name, { cursor: 1, floor: 0, state: 'up', watched: true }),
      of('message', `${name}/1`, name, { id: 1, from: 'argus', content_length: 2, read: false }),
    ])
    const polled = new Set<string>()
    const flags = await serve(t, path => {
      const { pathname, searchParams } = new URL(path, 'http://localhost')
      if (pathname !== '/api/inbox')
        return { status: 200, body: { result: names.map(persona => ({ persona, unread: 1 })) } }
      polled.add(searchParams.get('persona') ?? '')
      return { status: 200, body: { result: [unreadRow(1)] } }
    })
    t.match(await new Machine(t).fill(...drafts).look(t, 'backlog', ...flags), {
      status: 'ok',
      evidence: 'the journal has the unread messages that 50 inboxes showed; 1 more were not polled',
    })
    t.equal(polled.size, 50)
  },
)

t.test('doctor - a producer that never ran, stopped, died, hangs, or is another version', async t => {
  const machine = new Machine(t).fill()
  rmSync(join(machine.store, 'run'), { recursive: true })
  t.match(await machine.look(t, 'producer'), {
    status: 'warn',
    evidence: /no producer has run on this store yet/,
    remedy: /kim-producer run --store \S+, or kim-producer install-service --store \S+$/,
  })
  mkdirSync(join(machine.store, 'run'), { mode: 0o700 })
  for (const text of ['{not json', '[1]', '{}', '']) {
    writeFileSync(join(machine.store, 'run', 'health.json'), text, { mode: 0o600 })
    t.match(await machine.look(t, 'producer'), {
      status: 'warn',
      evidence: /^no producer holds the store, and run\/health\.json.* cannot be read$/,
      remedy: /kim-producer run/,
    })
  }
  machine.health({ state: 'stopped', reason: 'SIGTERM' })
  t.match(await machine.look(t, 'producer'), { status: 'warn', evidence: /stopped: SIGTERM/ })
  machine.health({ state: 'running', pid: 1 })
  t.match(await machine.look(t, 'producer'), { status: 'fail', evidence: /without a clean stop/ })
  const holder = openJournal({ storeDir: machine.store, source: 'http://localhost:7474' })
  t.teardown(() => holder.close())
  machine.health({ state: 'running', pid: process.pid, version: '0.0.1', interval_ms: 10_000 })
  t.match(await machine.look(t, 'producer'), { status: 'ok' })
  t.match(await machine.look(t, 'version'), {
    status: 'warn',
    evidence: /is 0\.0\.1, this program/,
    remedy: /same flags; without a service: kim-producer shutdown --store \S+, then start it again/,
  })
  spawnSync('touch', ['-d', '10 minutes ago', join(machine.store, 'run', 'health.json')])
  t.match(await machine.look(t, 'producer'), {
    status: 'fail',
    evidence: /hangs or is suspended/,
    remedy:
      /: kill -CONT \d+; or end it: kill -9 \d+ \(recorded mail is safe\), then start it: kim-producer run/,
  })
  machine.health({ state: 'running', pid: process.pid, disk: 'full' })
  t.match(await machine.look(t, 'producer'), { status: 'fail', evidence: /disk is full/ })
})

t.test(
  'doctor - a service that is not installed, and one whose Node is gone',
  { skip: process.platform !== 'linux' && 'systemd only' },
  async t => {
    const machine = new Machine(t)
    machine.env['PATH'] = new FakeSupervisor(join(machine.home, 'bin')).path
    t.match(await machine.look(t, 'service'), { status: 'warn', remedy: /install-service/ })
    const units = join(machine.home, 'config', 'systemd', 'user')
    mkdirSync(units, { recursive: true })
    const write = (line: string): void =>
      writeFileSync(join(units, 'kim-producer.service'), `[Service]\n${line}\n`)
    write(`ExecStart="/gone/a b/node" "${bin}" run --store=${machine.store}`)
    t.match(await machine.look(t, 'service'), {
      status: 'fail',
      evidence: /\/gone\/a b\/node is missing/,
    })
    write(`ExecStart=${process.execPath} ${bin} run --store=${machine.store}`)
    t.match(await machine.look(t, 'service'), { status: 'ok' })
    write('ExecStart=/bin/true')
    t.match(await machine.look(t, 'service'), { status: 'warn' })
  },
)

t.test(
  'doctor - a remedy that starts a producer leaves the service of another store alone (CL-64)',
  { skip: process.platform !== 'linux' && 'systemd only' },
  async t => {
    const machine = new Machine(t).fill()
    machine.env['PATH'] = new FakeSupervisor(join(machine.home, 'bin')).path
    const units = join(machine.home, 'config', 'systemd', 'user')
    mkdirSync(units, { recursive: true })
    const write = (name: string, store: string): void =>
      writeFileSync(
        join(units, name),
        `[Service]\nExecStart=${process.execPath} ${bin} run --store=${store}\n`,
      )
    t.match(await machine.look(t, 'service', '--name', 'two'), {
      remedy: `kim-producer install-service --linger --name two --store ${machine.store}`,
    })
    write('kim-producer.service', `${machine.store}-2`)
    for (const [flags, name] of [
      [[], 'NAME'],
      [['--name', 'two'], 'two'],
    ] as const) {
      t.match(await machine.look(t, 'producer', ...flags), {
        remedy: `or kim-producer install-service --name ${name} --store ${machine.store}`,
      })
    }
    write('kim-producer-two.service', machine.store)
    t.match(await machine.look(t, 'producer'), {
      remedy: /start it: systemctl --user start kim-producer-two\.service, or kim-producer run --store \S+$/,
    })
  },
)

t.test(
  'doctor - without a flag of run it looks with those of the service on the store (CL-64)',
  { skip: process.platform !== 'linux' && 'systemd only' },
  async t => {
    const machine = new Machine(t).fill()
    machine.env['PATH'] = new FakeSupervisor(join(machine.home, 'bin')).path
    const units = join(machine.home, 'config', 'systemd', 'user')
    mkdirSync(units, { recursive: true })
    const write = (name: string, ...flags: string[]): void => {
      const words = [process.execPath, bin, 'run', `--store=${machine.store}`, ...flags]
      writeFileSync(join(units, name), `[Service]\nExecStart=${words.join(' ')}\n`)
    }
    const token = join(machine.home, 'token')
    writeFileSync(token, 'demo', { mode: 0o600 })
    const flags = [
      '--url=http://127.0.0.1:9',
      '--dialect=hosted',
      '--allow-loopback',
      `--token-file=${token}`,
    ]
    write('kim-producer.service', ...flags)
    t.match(await machine.look(t, 'server'), { status: 'fail', evidence: /^http:\/\/127\.0\.0\.1:9: / })
    t.match(await machine.look(t, 'token'), { status: 'ok', evidence: /token$/ })
    t.match(await machine.look(t, 'producer'), { remedy: /kim-producer run .*--dialect hosted/ })
    const own = await machine.look(t, 'server', '--url', 'http://localhost:7474')
    t.match(own, { evidence: /^http:\/\/localhost:7474/ }, 'a flag that is given is what is meant')

    write('kim-producer.service', ...flags, '--of-another-release')
    t.match(
      await machine.look(t, 'server'),
      { evidence: /^http:\/\/localhost:7474/ },
      'flags that it cannot read',
    )
    write('kim-producer.service', ...flags)
    write('kim-producer-b.service', ...flags)
    t.match(await machine.look(t, 'server'), { evidence: /^http:\/\/localhost:7474/ }, 'two say two things')
  },
)

t.test(
  'doctor - an open alarm, a forgotten consumer, a clock that is behind, numbers that run out',
  async t => {
    const machine = new Machine(t).fill(
      {
        agent: 'argus',
        action: 'create',
        item_type: 'alert',
        item_id: 'argus/stranded-mail',
        summary: 'stranded-mail',
        event: 'alert',
        payload: {
          schema_version: 1,
          persona: 'argus',
          kind: 'stranded-mail',
          status: 'open',
          reason: 'stranded-mail: rivver has unread mail, but no agent seems to read it',
        },
      },
      {
        agent: 'river',
        action: 'create',
        item_type: 'alert',
        item_id: 'river/unreachable',
        summary: 'unreachable',
        event: 'alert',
        payload: {
          schema_version: 1,
          persona: 'river',
          kind: 'unreachable',
          status: 'open',
          reason: 'unreachable: no answer',
        },
      },
      message(7, '2099-01-01T00:00:00.000Z'),
    )
    t.match(await machine.look(t, 'inboxes'), {
      status: 'warn',
      evidence: 'river: unreachable: no answer, and 1 more',
      remedy:
        /^start Kijito at http:\/\/localhost:7474, or check --url; then poll now: kim-producer poke --store/,
    })
    t.match(await machine.look(t, 'clock'), { status: 'warn', remedy: /set-ntp/ })
    const cursors = join(machine.home, 'state', 'kim', 'clients', 'kim-tail', 'cursors')
    mkdirSync(cursors, { recursive: true })
    writeFileSync(join(cursors, 'night.json'), '{')
    const seen = await machine.look(t, 'consumers')
    t.match(seen, { status: 'warn', evidence: 'night: its file is damaged' })
    const tail = fileURLToPath(new URL('../../../tail/bin/kim-tail.js', import.meta.url))
    const [, set = ''] =
      /^to miss nothing: kim-tail (cursors set night --seq N --store \S+) \(/.exec(seen.remedy ?? '') ?? []
    const words = set.replace('N', '1').split(' ')
    t.equal(spawnSync(process.execPath, [tail, ...words], { env: machine.env }).status, 0, set)
    t.match(await machine.look(t, 'consumers'), { status: 'ok', evidence: 'consumers: 1' })
    writeFileSync(join(cursors, 'night.json'), '{')
    const forget = /kim-tail (cursors rm \S+)/.exec(seen.remedy ?? '')?.[1] ?? ''
    t.equal(spawnSync(process.execPath, [tail, ...forget.split(' ')], { env: machine.env }).status, 0)
    t.match(await machine.look(t, 'consumers'), { status: 'ok', evidence: 'consumers: 0' })
    spawnSync(process.execPath, [tail, ...words], { env: machine.env })
    const last = machine.segments().at(-1) ?? ''
    const text = readFileSync(last, 'utf8')
    const far = text.replaceAll(/"seq":\d+/g, (_, at: number) => `"seq":${90_000_000 + at}`)
    writeFileSync(join(dirname(last), 'seg-90000000.jsonl'), far, { mode: 0o600 })
    t.match(await machine.look(t, 'numbers'), { status: 'warn', remedy: /compatibility\.md/ })
    t.match(await machine.look(t, 'consumers'), {
      status: 'warn',
      evidence: /^night: \d+ records behind the head, those of all personas counted$/,
    })
  },
)

t.test('doctor - an inbox that is down, with what helps before it is polled again', async t => {
  for (const [reason, remedy] of [
    ['http 404: not found', /answers 404, not found: check the name of the persona; .*; then poll now: /],
    ['http 500: oops', /^read the log of the server; then poll now: kim-producer poke --store /],
  ] as const) {
    const payload = { schema_version: 1, persona: 'river', kind: 'unreachable', status: 'open', reason }
    const [item_id, summary] = ['river/unreachable', 'unreachable']
    const machine = new Machine(t).fill({
      ...{ agent: 'river', action: 'create', item_type: 'alert', item_id, summary, event: 'alert', payload },
    })
    t.match(await machine.look(t, 'inboxes'), { status: 'warn', evidence: `river: ${reason}`, remedy })
  }
})

t.test('doctor - a clock that was behind long ago is no matter of today', async t => {
  const machine = new Machine(t)
  const wall = Date.now() - 3 * 86_400_000
  const clock = { wallMs: () => wall, monoMs: () => 1, bootMs: () => 1 }
  const journal = openJournal({ storeDir: machine.store, source: 'http://localhost:7474', clock })
  journal.append([message(1, '2099-01-01T00:00:00.000Z')])
  journal.close()
  t.match(await machine.look(t, 'clock'), {
    status: 'unknown',
    evidence: 'no message of the last day has a creation time',
  })
})

t.test(
  'doctor - limits of notifications are never lowered',
  { skip: process.platform !== 'linux' && 'Linux only' },
  async t => {
    const machine = new Machine(t)
    machine.env['NODE_OPTIONS'] = refusedWatch(1_048_576, 128).join('=')
    t.match(await machine.look(t, 'inotify'), {
      status: 'fail',
      remedy: 'sudo sysctl fs.inotify.max_user_watches=2097152 fs.inotify.max_user_instances=512',
    })
  },
)

t.test(
  'doctor - one check that fails does not stop the others, and an unknown one is a usage error',
  async t => {
    const machine = new Machine(t).fill()
    writeFileSync(join(machine.store, 'run', 'health.json'), '[1')
    const all = spawnSync(process.execPath, [bin, 'doctor', '--json', '--store', machine.store], {
      env: machine.env,
      encoding: 'utf8',
    })
    const { checks } = JSON.parse(all.stdout) as { checks: Seen[] }
    t.ok(checks.length >= 15, `${checks.length} checks`)
    t.ok(checks.every(({ evidence }) => evidence !== ''))
    const unknown = spawnSync(process.execPath, [bin, 'doctor', '--only', 'tokn'], {
      env: machine.env,
      encoding: 'utf8',
    })
    t.equal(unknown.status, 2)
  },
)
