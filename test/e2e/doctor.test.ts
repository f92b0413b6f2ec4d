import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Draft, openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { FakeSupervisor } from '../kit/fake-supervisor.js'
import { closedDirectory } from '../kit/kijito/preloads.js'
import { serve } from './loopback-server.js'

/** Only root can give a file away. */
const isRoot = process.getuid?.() === 0

const bin = join(
  dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))),
  'producer/bin/kim-producer.js',
)

interface Seen {
  readonly id: string
  readonly status: string
  readonly evidence: string
  readonly remedy: string | null
  readonly fixed: boolean
}

/** A user's machine: a home, a store in it, and the doctor. */
class Machine {
  readonly home: string
  readonly store: string
  readonly env: Record<string, string>

  constructor(t: Test) {
    this.home = mkdtempSync(join(tmpdir(), 'kim-doctor-'))
    t.teardown(() => rmSync(this.home, { recursive: true, force: true }))
    this.store = join(this.home, 'state', 'store')
    const { PATH = '' } = process.env
    this.env = {
      PATH,
      HOME: this.home,
      XDG_STATE_HOME: join(this.home, 'state'),
      XDG_CONFIG_HOME: join(this.home, 'config'),
    }
  }

  /** A healthy store with a few records and more than one segment. */
  fill(...more: Draft[]): this {
    const journal = openJournal({ storeDir: this.store, source: 'http://localhost:7474', gc: false })
    for (let id = 1; id <= 6; id++) {
      journal.append([message(id)])
      if (id % 2 === 0) journal.roll()
    }
    if (more.length > 0) journal.append(more)
    journal.close()
    return this
  }

  segments(): string[] {
    const events = join(this.store, 'events')
    return readdirSync(events)
      .filter(name => name.startsWith('seg-'))
      .sort()
      .map(name => join(events, name))
  }

  health(health: object): void {
    mkdirSync(join(this.store, 'run'), { recursive: true, mode: 0o700 })
    writeFileSync(join(this.store, 'run', 'health.json'), JSON.stringify(health), { mode: 0o600 })
  }

  /** One check, as it is seen from outside; the exit code has to agree with it. */
  async look(t: Test, id: string, ...flags: string[]): Promise<Seen> {
    const args = ['doctor', '--json', '--store', this.store, '--only', id, ...flags]
    const child = spawn(process.execPath, [bin, ...args], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      out += String(chunk)
    })
    const code = await new Promise(resolve => child.on('close', resolve))
    const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Seen[] }
    const [seen] = checks
    if (seen === undefined) throw new Error('no check')
    t.equal(ok, seen.status !== 'fail' || seen.fixed)
    t.equal(code, ok ? 0 : 1, 'the exit code says it too')
    return seen
  }
}

function message(id: number, created = '2026-06-10T14:03:22.114Z'): Draft {
  const payload = {
    schema_version: 1,
    persona: 'river',
    id,
    from: 'argus',
    content: 'x',
    content_length: 1,
    created,
    read: false,
  }
  return {
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${id}`,
    summary: 'x',
    payload,
  }
}

const healthy = (path: string): { status: number; body: unknown } =>
  path.startsWith('/api/personas')
    ? { status: 200, body: { result: [{ persona: 'river' }, { persona: 'argus' }] } }
    : { status: 200, body: { result: [{ persona: 'river', unread: 9 }], cursor: 'c' } }

t.test('doctor - a store that is well', async t => {
  const machine = new Machine(t).fill()
  for (const id of [
    'store',
    'store-modes',
    'journal',
    'numbers',
    'source',
    'token',
    'inboxes',
    'consumers',
  ]) {
    const seen = await machine.look(t, id)
    t.equal(seen.status, 'ok', `${id}: ${seen.evidence}`)
    t.equal(seen.remedy, null)
  }
})

t.test('doctor - no store', async t => {
  const machine = new Machine(t)
  t.match(await machine.look(t, 'store'), { status: 'warn', remedy: /kim-producer run/ })
  machine.fill()
  t.match(await machine.look(t, 'store'), { status: 'ok' })
})

t.test('doctor - a file that others can read, mended by what it names and by itself', async t => {
  const machine = new Machine(t).fill()
  const [first = ''] = machine.segments()
  chmodSync(first, 0o644)
  const seen = await machine.look(t, 'store-modes')
  t.match(seen, { status: 'fail', evidence: /mode 0644/, fixed: false })
  const [command = ''] = (seen.remedy ?? '').split('   ')
  t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  chmodSync(join(machine.store, 'events'), 0o755)
  t.match(await machine.look(t, 'store-modes', '--fix'), { status: 'fail', fixed: true })
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
})

t.test('doctor - a store that others can write to is refused with what mends it', async t => {
  const machine = new Machine(t).fill()
  const checkpoint = (): ReturnType<typeof spawnSync> =>
    spawnSync(process.execPath, [bin, 'journal', 'checkpoint', '--store', machine.store], {
      env: machine.env,
    })
  for (const directory of [machine.store, join(machine.store, 'events')]) {
    chmodSync(directory, 0o777)
    const { status, stderr } = checkpoint()
    t.equal(status, 77)
    const said = String(stderr)
    t.match(said, `${directory}: others may write to it (mode 0777)\n  nothing was touched; `)
    t.match(said, /, or kim-producer doctor --fix with the same --store\n/)
    t.equal(spawnSync('sh', ['-c', /chmod 700 [^,]*/.exec(said)?.[0] ?? 'false']).status, 0)
    t.equal(checkpoint().status, 0)
    chmodSync(directory, 0o777)
    t.match(await machine.look(t, 'store-modes', '--fix'), { status: 'fail', fixed: true })
    t.equal(checkpoint().status, 0)
  }
})

t.test('doctor - a link and a pipe in the store', async t => {
  const machine = new Machine(t).fill()
  const link = join(machine.store, 'events', 'blobs', 'aa')
  symlinkSync('/etc', link)
  const seen = await machine.look(t, 'store-modes', '--fix')
  t.match(seen, { status: 'fail', evidence: /symbolic link/, fixed: false })
  unlinkSync(link)
  spawnSync('mkfifo', [link])
  t.match(await machine.look(t, 'store-modes'), {
    status: 'fail',
    evidence: /neither a file nor a directory/,
  })
})

t.test('doctor - a file of another owner is given back, and never taken away', { skip: !isRoot }, async t => {
  const machine = new Machine(t).fill()
  const [segment = ''] = machine.segments()
  chownSync(segment, 1234, 1234)
  const seen = await machine.look(t, 'store-modes')
  t.match(seen, { status: 'fail', evidence: /belongs to user 1234/, remedy: /run as user 1234/ })
  spawnSync('sh', ['-c', /sudo (chown \S+ \S+)/.exec(seen.remedy ?? '')?.[1] ?? 'false'])
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
})

t.test('doctor - a store that cannot be written', async t => {
  const machine = new Machine(t).fill()
  t.match(await machine.look(t, 'store-writable'), { status: 'ok' })
  const closed = (path: string, code: 'EACCES' | 'EROFS'): void => {
    machine.env['NODE_OPTIONS'] = closedDirectory(path, path, code).join('=')
  }
  closed(machine.store, 'EROFS')
  t.match(await machine.look(t, 'store-writable'), {
    status: 'fail',
    evidence: `${machine.store} cannot be written: EROFS`,
    remedy: /read-only/,
  })
  const run = join(machine.store, 'run')
  closed(run, 'EACCES')
  t.match(await machine.look(t, 'store-writable'), {
    status: 'fail',
    evidence: /EACCES$/,
    remedy: /^see who/,
  })
  chmodSync(run, 0o500)
  const seen = await machine.look(t, 'store-writable')
  t.match(seen, { status: 'fail', evidence: `${run} cannot be written: EACCES (mode 0500)` })
  t.equal(spawnSync('sh', ['-c', seen.remedy ?? 'false']).status, 0)
  delete machine.env['NODE_OPTIONS']
  t.match(await machine.look(t, 'store-writable'), { status: 'ok' })
})

t.test('doctor - what stands in the place of the lock or of the socket is named before its mode', async t => {
  const machine = new Machine(t).fill()
  for (const [name, why] of [
    ['lock', /run\/lock: no regular file/],
    ['control.sock', /run\/control\.sock: no socket/],
    ['health.json', /run\/health\.json: no regular file/],
  ] as const) {
    const path = join(machine.store, 'run', name)
    rmSync(path, { force: true })
    mkdirSync(path, { mode: 0o755 })
    const seen = await machine.look(t, 'store-modes', '--fix')
    t.match(seen, { status: 'fail', evidence: why, fixed: false })
    const command = /mv .*/.exec(seen.remedy ?? '')?.[0] ?? 'false'
    t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
    t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  }
})

t.test('doctor - a sink that is held, one that is off, and one that nothing runs', async t => {
  const machine = new Machine(t).fill()
  const journal = openJournal({ storeDir: machine.store })
  const { projectId } = journal
  journal.close()
  const ledgers = join(machine.home, 'state', 'kim', 'clients', 'kim-producer', 'sinks', projectId)
  mkdirSync(ledgers, { recursive: true })
  const put = (name: string, held: readonly unknown[]): void =>
    writeFileSync(
      join(ledgers, name),
      JSON.stringify({ schema_version: 1, sink: 'file:/ev', passed: [2, null], held, names: [] }),
    )
  put('1.json', [])
  t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: '1 of them' })
  put('1.json', [['river', 1, null, 'the disk is full']])
  t.match(await machine.look(t, 'sinks'), {
    status: 'warn',
    evidence: 'file:/ev of river is held: the disk is full',
    remedy: /tried again/,
  })
  writeFileSync(join(ledgers, '1.json'), '{')
  const off = await machine.look(t, 'sinks')
  t.match(off, { status: 'fail', evidence: /is off: .*holds no watermark/ })
  const command = /rm \S+/.exec(off.remedy ?? '')?.[0] ?? 'false'
  t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
  t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: '0 of them' })
})

t.test('doctor - a directory above the store that others can write to', async t => {
  const machine = new Machine(t).fill()
  chmodSync(join(machine.home, 'state'), 0o777)
  const seen = await machine.look(t, 'ancestors')
  t.match(seen, { status: 'warn', evidence: /can be written by others/ })
  t.equal(spawnSync('sh', ['-c', seen.remedy ?? 'false']).status, 0)
  t.match(await machine.look(t, 'ancestors'), { status: 'ok' })
})

t.test('doctor - a segment that is gone, and one that was changed', async t => {
  const machine = new Machine(t).fill()
  const [, second = ''] = machine.segments()
  const bytes = readFileSync(second)
  unlinkSync(second)
  t.match(await machine.look(t, 'journal'), {
    status: 'fail',
    remedy: /journal verify --store \S+; .*repair --store \S+ --dry-run/,
  })
  writeFileSync(second, bytes.toString('latin1').replace('"x"', '"y"'), { encoding: 'latin1', mode: 0o600 })
  t.match(await machine.look(t, 'journal'), { status: 'fail', evidence: /damaged: .*chain_broken/ })
  writeFileSync(second, bytes, { mode: 0o600 })
  t.match(await machine.look(t, 'journal'), { status: 'ok' })
})

t.test('doctor - the store of another server', async t => {
  const machine = new Machine(t).fill()
  const seen = await machine.look(t, 'source', '--url', 'https://api.kijito.ai')
  t.match(seen, {
    status: 'fail',
    evidence: /belongs to http:\/\/localhost:7474, not to https:\/\/api\.kijito\.ai/,
    remedy: /--url http/,
  })
  const url = /--url (\S+)/.exec(seen.remedy ?? '')?.[1] ?? ''
  t.match(await machine.look(t, 'source', '--url', url), { status: 'ok' })
})

t.test('doctor - a token that is not there, open to others, or none', async t => {
  const machine = new Machine(t)
  const hosted = ['--url', 'https://api.kijito.ai']
  t.match(await machine.look(t, 'token', ...hosted), { status: 'fail', remedy: /--token-file|KIM_TOKEN/ })
  const file = join(machine.home, 'token')
  const flags = [...hosted, '--token-file', file]
  t.match(await machine.look(t, 'token', ...flags), { status: 'fail', evidence: /cannot be read/ })
  writeFileSync(file, 'kjt_0123456789abcdef0123\n', { mode: 0o644 })
  const open = await machine.look(t, 'token', ...flags)
  t.match(open, { status: 'fail', evidence: /open to others/ })
  t.notMatch(JSON.stringify(open), /kjt_/, 'it is never shown')
  t.match(await machine.look(t, 'token', ...flags, '--fix'), { status: 'fail', fixed: true })
  t.not((await machine.look(t, 'token', ...flags)).status, 'fail')
  writeFileSync(file, 'two words\n')
  const words = await machine.look(t, 'token', ...flags)
  t.match(words, { status: 'fail', evidence: /printable ASCII/ })
  t.notMatch(JSON.stringify(words), /two words/)
})

t.test('doctor - a server that is down, refuses, leads elsewhere, or is none', async t => {
  const machine = new Machine(t).fill()
  const answers = { status: 200, body: {} as unknown }
  const flags = await serve(t, path => (answers.status === 200 ? healthy(path) : answers))
  const down = ['--url', 'http://127.0.0.1:9', '--allow-loopback', '--dialect', 'local']
  t.match(await machine.look(t, 'server', ...down), {
    status: 'fail',
    remedy: /running at http:\/\/127\.0\.0\.1:9\?/,
  })
  for (const [status, remedy] of [
    [401, /token/],
    [403, /auth-header/],
    [404, /check --url/],
    [302, /leads to/],
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
    evidence: 'river: 9 unread at the server, 6 in the journal',
    remedy: /poke/,
  })
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

t.test('doctor - a producer that never ran, stopped, died, hangs, or is another version', async t => {
  const machine = new Machine(t).fill()
  rmSync(join(machine.store, 'run'), { recursive: true })
  t.match(await machine.look(t, 'producer'), {
    status: 'warn',
    evidence: /no producer ever ran/,
    remedy: /kim-producer run --store \S+, or kim-producer install-service --store \S+$/,
  })
  mkdirSync(join(machine.store, 'run'), { mode: 0o700 })
  for (const text of ['{not json', '[1]', '{}', '']) {
    writeFileSync(join(machine.store, 'run', 'health.json'), text, { mode: 0o600 })
    t.match(await machine.look(t, 'producer'), {
      status: 'warn',
      evidence: /^none holds the store, and run\/health\.json.* cannot be read$/,
      remedy: /kim-producer run/,
    })
  }
  machine.health({ state: 'stopped', reason: 'SIGTERM' })
  t.match(await machine.look(t, 'producer'), { status: 'warn', evidence: /stopped: SIGTERM/ })
  machine.health({ state: 'running', pid: 1 })
  t.match(await machine.look(t, 'producer'), { status: 'fail', evidence: /without a word/ })
  const holder = openJournal({ storeDir: machine.store, source: 'http://localhost:7474' })
  t.teardown(() => holder.close())
  machine.health({ state: 'running', pid: process.pid, version: '0.0.1', interval_ms: 10_000 })
  t.match(await machine.look(t, 'producer'), { status: 'ok' })
  t.match(await machine.look(t, 'version'), { status: 'warn', evidence: /0\.0\.1 runs/, remedy: /restart/ })
  spawnSync('touch', ['-d', '10 minutes ago', join(machine.store, 'run', 'health.json')])
  t.match(await machine.look(t, 'producer'), { status: 'fail', evidence: /hangs, or is suspended/ })
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
      evidence: /\/gone\/a b\/node, which is gone/,
    })
    write(`ExecStart=${process.execPath} ${bin} run --store=${machine.store}`)
    t.match(await machine.look(t, 'service'), { status: 'ok' })
    write('ExecStart=/bin/true')
    t.match(await machine.look(t, 'service'), { status: 'warn' })
  },
)

t.test(
  'doctor - an open alarm, a forgotten consumer, a clock that is behind, numbers that run out',
  async t => {
    const machine = new Machine(t).fill(
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
    t.match(await machine.look(t, 'inboxes'), { status: 'warn', evidence: 'river: unreachable: no answer' })
    t.match(await machine.look(t, 'clock'), { status: 'warn', remedy: /set-ntp/ })
    const cursors = join(machine.home, 'state', 'kim', 'clients', 'kim-tail', 'cursors')
    mkdirSync(cursors, { recursive: true })
    writeFileSync(join(cursors, 'night.json'), '{')
    const seen = await machine.look(t, 'consumers')
    t.match(seen, { status: 'warn', evidence: 'night: its file is damaged' })
    t.equal(spawnSync('sh', ['-c', /rm .*/.exec(seen.remedy ?? '')?.[0] ?? 'false']).status, 0)
    t.match(await machine.look(t, 'consumers'), { status: 'ok' })
    const last = machine.segments().at(-1) ?? ''
    const text = readFileSync(last, 'utf8')
    const far = text.replaceAll(/"seq":\d+/g, (_, at: number) => `"seq":${90_000_000 + at}`)
    writeFileSync(join(dirname(last), 'seg-90000000.jsonl'), far, { mode: 0o600 })
    t.match(await machine.look(t, 'numbers'), { status: 'warn', remedy: /compatibility\.md/ })
  },
)

t.test(
  'doctor - one check that fails keeps nobody from the others, and an unknown one is a usage error',
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
