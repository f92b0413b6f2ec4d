import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { storePaths } from '@kim/manifest'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Test } from 'tap'
import { complete, counts, FP, NF, page, row, type Scene } from '../kit/kijito/index.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const schema = JSON.parse(readFileSync(join(root, 'producer/schema/output-status.json'), 'utf8')) as object
const validate = new Ajv2020({ allErrors: true, allowUnionTypes: true, validateFormats: false }).compile(
  schema,
)

interface Status {
  readonly state: string
  readonly pid: number | null
  readonly head_seq: number
  readonly level: string
  readonly backlog: unknown
  readonly sinks: readonly Readonly<Record<string, unknown>>[]
  readonly consumers: unknown
  readonly personas: readonly { readonly alert?: string }[]
}

/** What `status --json` prints, held against its schema. */
async function status(t: Test, scene: Scene): Promise<Status> {
  const asked = scene.run(['status', '--json', '--store', scene.store])
  t.equal(await scene.endOf(asked), 0, asked.stderr)
  const found = JSON.parse(asked.stdout) as Status
  t.ok(validate(found), `${asked.stdout} ${JSON.stringify(validate.errors)}`)
  return found
}

/** The same for a person. */
async function words(t: Test, scene: Scene): Promise<string> {
  const asked = scene.run(['status', '--store', scene.store])
  t.equal(await scene.endOf(asked), 0, asked.stderr)
  return asked.stdout
}

/** Waits until counts that are asked for from now on are in. */
async function counted(scene: Scene): Promise<void> {
  const requests = (): number => scene.asked({ endpoint: 'pending' }).length
  const before = requests()
  // The request after it is made only when the answer has been dealt with.
  await scene.until('counts are in', () => requests() > before + 1)
}

row('CL-54 status', 'a journal on which nothing ever ran', { standing: { cursor: 4 } }, async (t, scene) => {
  t.match(await status(t, scene), {
    state: 'never',
    pid: null,
    age_ms: null,
    backlog: { state: 'unknown', as_of: null, personas: [] },
    sinks: [],
    consumers: [],
  })
  t.match(
    await words(t, scene),
    /^producer {2}never: no producer has run on this store yet\nstore .*\nbacklog {3}unknown/,
  )
})

row(
  'CL-54 unknown',
  'unreadable files of a producer are no sign that none ran',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const { health, run } = storePaths(scene.store)
    mkdirSync(run, { recursive: true, mode: 0o700 })
    writeFileSync(health, '{"state": "run', { mode: 0o600 })
    t.match(await status(t, scene), { state: 'unknown', pid: null, age_ms: null })
    t.match(await words(t, scene), /^producer {2}unknown: .*run\/health\.json cannot be read\n/)
  },
)

row(
  'CL-54 killed',
  'a killed sink is as far as its last event, and an unreadable ledger delays no command',
  {},
  async (t, scene) => {
    const lines = join(scene.home, 'ev.ndjson')
    const producer = scene.start([...NF, '--events-file', lines])
    await scene.tells('armed(0)')
    for (let n = 0; n < 30; n++) scene.send('argus')
    await scene.until(
      'they are told',
      () => existsSync(lines) && readFileSync(lines, 'utf8').includes(':new:30"'),
    )
    const file = String((await status(t, scene)).sinks[0]?.['file'])
    const noted = (): number => {
      const { passed, held } = JSON.parse(readFileSync(file, 'utf8')) as {
        passed: number[]
        held: number[][]
      }
      return Math.max(passed[0] ?? 0, held[0]?.[1] ?? 0)
    }
    await scene.until('it is noted', () => noted() > 30)
    producer.signal('SIGKILL')
    await producer.ended
    const behind = Number((await status(t, scene)).sinks[0]?.['behind'])
    t.ok(behind < 10, `${behind} behind, after 30 that were told`)
    rmSync(file)
    execFileSync('mkfifo', [file])
    t.match(await status(t, scene), { sinks: [{ state: 'off', why: /does not hold a valid watermark/ }] })
  },
)

row(
  'CL-54 sinks',
  'how far each is, what is held and why, also when nothing runs any more',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const lines = join(scene.home, 'out', 'ev.ndjson')
    const flags = ['--emit', 'exec-per-event', '--exec', 'exit 7', '--events-file', lines]
    scene.newest(complete(4, 5))
    const producer = scene.start([...NF, ...flags])
    await scene.tells('armed(4)')
    await scene.until('it is refused', () => producer.stderr.includes('sink_failing'))
    const held = { state: 'held', held: 1, lanes: [{ lane: 'argus', why: /exited with 7/, tries: Number }] }
    const running = await status(t, scene)
    const [exec, file] = running.sinks
    t.match(exec, { sink: 'exec-per-event', identity: 'exec-per-event', ...held })
    t.ok(Number(exec?.['behind']) > 0)
    t.same(exec?.['skipped'], { liveness: 1 }, 'the sign of life before the mail (KS-72)')
    t.match(file, { sink: 'events-file', identity: `file:${lines}`, state: 'working', behind: 0, held: 0 })
    t.match(
      await words(t, scene),
      /\nsink {6}exec-per-event: [\d,]+ records? behind; skipped: 1 event; argus is held.*: .*exited with 7\n/,
    )
    t.equal(await producer.stop(), 0, producer.stderr)
    const left = await status(t, scene)
    t.equal(left.state, 'stopped')
    const [first, second] = [...left.sinks].sort((a, b) => String(a['sink']).localeCompare(String(b['sink'])))
    t.match(first, { sink: 'events-file', state: 'idle', behind: Number, held: 0 })
    t.match(second, { sink: 'exec-per-event', ...held, state: 'idle' })
    t.match(
      await words(t, scene),
      /\nsink {6}exec-per-event: [\d,]+ records? behind, no producer runs it; argus is held: /,
    )
  },
)

row(
  'CL-54 forgotten',
  'a sink that was given up says how to forget it, and one that is off is listed once',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const lines = join(scene.home, 'out', 'ev.ndjson')
    const flags = [...NF, '--events-file', lines]
    scene.newest(complete(4, 5))
    const both = scene.start([...flags, '--emit', 'stdout-jsonl'])
    await scene.tells('armed(4)')
    t.equal(await both.stop(), 0, both.stderr)
    t.notMatch(await words(t, scene), /to delete its watermark/, 'the next producer may go on with both')
    const one = scene.start(flags)
    await scene.until('it runs', () => one.stderr.includes('"started"'))
    const line =
      /\nsink {6}stdout-jsonl: [\d,]+ records? behind, no producer runs it; to delete its watermark: (rm \S+)\n/
    const [, command = 'false'] = line.exec(await words(t, scene)) ?? []
    t.match(one.stderr, 'stdout-jsonl: the sink is no longer configured')
    t.match(one.stderr, `or delete the watermark: ${command}"`, 'run says so as it starts')
    t.notMatch(both.stderr, '"sink_left"')
    t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
    const { sinks } = await status(t, scene)
    t.match(sinks, [{ identity: `file:${lines}`, state: 'working', file: /\.json$/ }])
    await one.stop()
    writeFileSync(String(sinks[0]?.['file']), '{')
    const off = scene.start(flags)
    await scene.until('it says so', () => off.stderr.includes('"sink_off"'))
    await scene.until('it runs', () => off.stderr.includes('"started"'))
    t.match(await status(t, scene), { sinks: [{ identity: `file:${lines}`, state: 'off' }] })
    t.notMatch(off.stderr, '"sink_left"')
    t.equal((await status(t, scene)).sinks.length, 1)
    const doctor = scene.run(['doctor', '--only', 'sinks', '--store', scene.store])
    t.equal(await scene.endOf(doctor), 1)
    t.match(doctor.stdout, /^fail +sinks +file:.* is off: /)
    await off.stop()
  },
)

row(
  'CL-54 held',
  'a doctor hears of a held sink from the producer itself',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5))
    const producer = scene.start([...NF, '--emit', 'exec-per-event', '--exec', 'exit 7'])
    await scene.until('it is refused', () => producer.stderr.includes('sink_failing'))
    const doctor = scene.run(['doctor', '--only', 'sinks', '--store', scene.store])
    t.equal(await scene.endOf(doctor), 0, doctor.stderr)
    t.match(doctor.stdout, /^warn +sinks +exec-per-event of argus is held: .*exited with 7\n/)
    await producer.stop()
  },
)

row(
  'CL-54 backlog',
  'what the server calls unread and the journal does not have',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    scene.pending(counts({ argus: 3 }, 1))
    const producer = scene.start(FP)
    await scene.tells('armed(4)')
    await counted(scene)
    await scene.polls(2)
    const behind = { state: 'behind', personas: [{ persona: 'argus', there: 3, here: Number }] }
    t.match((await status(t, scene)).backlog, behind)
    t.match(await words(t, scene), /\nbacklog {3}behind: argus has 3 unread on the server, \d in the journal/)
    await producer.stop()
    t.match((await status(t, scene)).backlog, behind, 'as it was heard last')
    scene.clear()
    const next = scene.start(FP)
    scene.newest(complete(4))
    scene.pending(counts({ argus: 0 }, 2))
    await counted(scene)
    await scene.polls(2)
    t.match((await status(t, scene)).backlog, { state: 'none', as_of: String, polled_since: null })
    t.match(await words(t, scene), /\nbacklog {3}none: the server counts no unread mail/)
    await next.stop()
  },
)

row(
  'CL-54 even',
  'equal counts are never called none: they may be of different messages',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    scene.pending(counts({ argus: 1 }))
    const producer = scene.start(FP)
    await scene.tells('armed(4)')
    await scene.until('it is counted', () => scene.asked({ endpoint: 'pending' }).length > 1)
    t.match((await status(t, scene)).backlog, { state: 'even', personas: [], polled_since: String })
    t.match(
      await words(t, scene),
      /\nbacklog {3}even: no inbox has more unread mail .*; each inbox with unread mail was polled in the last \S+, and the journal has what it showed/,
    )
    await producer.stop()
  },
)

row(
  'CL-54 hidden',
  'unread mail that the server does not show is no backlog, and what is missing besides is',
  {},
  async (t, scene) => {
    const window = page([11, 12, 13], {
      truncated: true,
      size_dropped: 10,
      next_before_id: 11,
      unread_not_shown: 10,
    })
    scene.newest(window)
    scene.pending(counts({ argus: 13 }, 1))
    const producer = scene.start(FP)
    await scene.tells('armed(13)')
    await scene.until('it is announced', () => scene.story().includes('alert unread-not-shown'))
    await counted(scene)
    await scene.polls(2)
    t.match((await status(t, scene)).backlog, { state: 'even', personas: [], hidden: 10 })
    t.match(
      await words(t, scene),
      /\nbacklog {3}even: .*, apart from 10 messages that the server counts but hides; /,
    )
    const doctor = scene.run(
      [
        ...['doctor', '--only', 'backlog', '--store', scene.store],
        ...['--url', scene.url, '--allow-loopback', '--dialect', 'hosted'],
      ],
      { KIM_TOKEN: 'tok' },
    )
    t.equal(await scene.endOf(doctor), 0, doctor.stderr)
    t.match(doctor.stdout, /^ok +backlog /)
    await producer.stop()
    scene.pending(counts({ argus: 14 }, 2))
    const next = scene.start(FP)
    await counted(scene)
    await scene.polls(2)
    t.match((await status(t, scene)).backlog, {
      personas: [{ persona: 'argus', there: 14, here: 3, hidden: 10 }],
    })
    await next.stop()
  },
)

row(
  'CL-54 redacted',
  'A3: mail that was redacted while it was unread is no backlog',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    scene.pending(counts({ argus: 1 }, 1))
    const producer = scene.start(FP)
    await scene.tells('armed(4)')
    await scene.polls(2)
    await producer.stop()
    const redact = ['journal', 'redact', '--entity', 'message', 'argus/4', '--reason', 'a test']
    const redacted = scene.run([...redact, '--store', scene.store])
    t.equal(await scene.endOf(redacted), 0, redacted.stderr)
    t.match((await status(t, scene)).backlog, { state: 'even', personas: [] })
    const flags = ['--store', scene.store, '--url', scene.url, '--allow-loopback', '--dialect', 'hosted']
    const doctor = scene.run(['doctor', '--only', 'backlog', ...flags], { KIM_TOKEN: 'tok' })
    t.equal(await scene.endOf(doctor), 0, doctor.stderr)
    t.match(doctor.stdout, /^ok +backlog /)
    scene.pending(counts({ argus: 2 }, 2))
    const next = scene.start(FP)
    await scene.polls(2)
    t.match((await status(t, scene)).backlog, {
      state: 'behind',
      personas: [{ persona: 'argus', there: 2, here: 0, redacted: 1 }],
    })
    await next.stop()
  },
)

/** What `status --check` exits with, and the last line that it prints. */
async function check(scene: Scene): Promise<readonly [code: number | string, level: string | undefined]> {
  const asked = scene.run(['status', '--check', '--store', scene.store])
  const code = await scene.endOf(asked)
  return [code, asked.stdout.trimEnd().split('\n').at(-1)]
}

row(
  'CL-73 check',
  'D10: a full disk and an inbox that is down are degraded, and one command shows the alerts',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    t.same(await check(scene), [8, 'level     unknown'])
    scene.newest(complete(4))
    const producer = scene.start([...NF, '--alert-after', '1'])
    await scene.tells('armed(4)')
    t.same(await check(scene), [0, 'level     ok'])
    scene.rule({ on: { endpoint: 'inbox' }, effect: { status: 502 } })
    await scene.tells('alert unreachable')
    t.same(await check(scene), [9, 'level     degraded: argus: unreachable'])
    const alert = { persona: 'argus', kind: 'unreachable', reason: 'http 502' }
    t.match(await status(t, scene), {
      level: 'degraded',
      alerts: [alert],
      attention: ['argus: unreachable'],
    })
    t.match(await words(t, scene), /\nalert {5}argus: http 502\nlevel /)
    producer.signal('SIGSTOP')
    const { health } = storePaths(scene.store)
    const said = JSON.parse(readFileSync(health, 'utf8')) as object
    writeFileSync(health, JSON.stringify({ ...said, disk: 'full' }), { mode: 0o600 })
    t.same(await check(scene), [9, 'level     degraded: the disk is full; argus: unreachable'])
    producer.signal('SIGKILL')
    await producer.ended
    t.same(await check(scene), [7, 'level     down'])
  },
)

row(
  'CL-54 inboxes',
  'ids that came back lower are in the line of the inbox, with what to do about them',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    scene.newest(complete(100), complete(1, 2))
    const producer = scene.start(NF)
    await scene.tells('alert id-regressed')
    const [inbox] = (await status(t, scene)).personas
    t.match(inbox?.alert, /^id-regressed: .* new mail up to message 100 is not recorded or announced$/)
    t.match(
      await words(t, scene),
      /\ninbox .*id-regressed: .*; correct --url if it leads to another server\. If .* start with a new store, --store DIR; .*\n/,
    )
    t.match(producer.stderr, /reset or restored.*start with a new store/)
    await producer.stop()
    const doctor = scene.run(['doctor', '--only', 'inboxes', '--store', scene.store])
    await scene.endOf(doctor)
    t.match(doctor.stdout, /id-regressed: .*\n.*reset or restored/)
  },
)

row(
  'CL-54 producer',
  'hung and gone are told apart, and from running and stopped',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const producer = scene.start(NF)
    await scene.tells('armed(4)')
    t.match(await status(t, scene), { state: 'running', age_ms: 0, pid: producer.child.pid })
    producer.signal('SIGSTOP')
    t.match(await status(t, scene), { state: 'running' }, 'silence has to last')
    const { health } = storePaths(scene.store)
    spawnSync('touch', ['-d', '1 hour ago', health])
    t.match(await status(t, scene), { state: 'hung', pid: producer.child.pid })
    t.match(await words(t, scene), /^producer {2}hung: it holds the store/)
    producer.signal('SIGKILL')
    await producer.ended
    t.match(await status(t, scene), { state: 'gone', pid: producer.child.pid })
    t.match(await words(t, scene), /^producer {2}gone: it ended without a clean stop; .*\(last heartbeat 1h/)
  },
)

/** The state letter of a process, as the system has it. */
function letterOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
}

row(
  'CL-54 CL-30 zombie',
  'a producer that was killed and that no parent waited for is gone',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    if (process.platform !== 'linux') return
    // Its parent becomes a program that never asks how its child ended.
    const flags = [
      ...NF,
      '--url',
      scene.url,
      '--allow-loopback',
      '--dialect',
      'hosted',
      '--store',
      scene.store,
    ]
    const words = [process.execPath, join(root, 'producer/bin/kim-producer.js'), 'run', ...flags]
    const parent = spawn('sh', ['-c', '"$@" & exec sleep 600', 'sh', ...words], {
      env: { PATH: process.env['PATH'], HOME: scene.home, KIM_TOKEN: 'tok' },
      stdio: 'ignore',
    })
    t.teardown(() => parent.kill('SIGKILL'))
    await scene.tells('armed(4)')
    const { pid } = await status(t, scene)
    const tail = (): Readonly<Record<string, unknown>> => {
      const bin = join(root, 'tail/bin/kim-tail.js')
      const { stdout } = spawnSync(process.execPath, [bin, 'status', '--json', '--store', scene.store])
      return (JSON.parse(String(stdout)) as { producer: Readonly<Record<string, unknown>> }).producer
    }
    t.match(tail(), { state: 'up' })
    process.kill(Number(pid), 'SIGKILL')
    await scene.until('it has ended', () => letterOf(Number(pid)) === 'Z')
    t.match(await status(t, scene), { state: 'gone', pid })
    t.match(tail(), { state: 'down', evidence: `its process ${pid} no longer runs` })
    const doctor = scene.run(['doctor', '--only', 'producer', '--store', scene.store])
    t.equal(await scene.endOf(doctor), 1)
    t.match(doctor.stdout, /^fail +producer +the producer ended without a clean stop/)
    t.equal(letterOf(Number(pid)), 'Z', 'still there')
  },
)

row(
  'CL-54 unread',
  'of the server and of the journal are two counts, each with its name',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    scene.pending(counts({ argus: 3 }, 1))
    const producer = scene.start(FP)
    await scene.tells('armed(4)')
    await counted(scene)
    await scene.polls(2)
    const both = { personas: [{ persona: 'argus', unread: 3, unread_server: 3, unread_journal: 1 }] }
    t.match(await status(t, scene), both)
    t.match(await words(t, scene), /\ninbox {5}argus .*, 3 unread on the server, 1 in the journal\n/)
    await producer.stop()
    t.match(await status(t, scene), both, 'as it was heard last')
  },
)

row(
  'CL-54 consumers',
  'each of this journal, and no other',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const { head_seq, project_id } = (await status(t, scene)) as Status & { readonly project_id: string }
    const directory = join(scene.home, 'state', 'kim', 'clients', 'kim-tail', 'cursors')
    mkdirSync(directory, { recursive: true })
    const place = { checkpoint_seq: 0, project_id, seq: head_seq - 2, writer: null }
    writeFileSync(join(directory, 'session.json'), JSON.stringify(place))
    writeFileSync(join(directory, 'other.json'), JSON.stringify({ ...place, project_id: 'another' }))
    writeFileSync(join(directory, 'broken.json'), '{')
    t.match((await status(t, scene)).consumers, [
      { consumer: 'broken', seq: null, behind: null, in_use: false },
      { consumer: 'session', seq: head_seq - 2, behind: 2, in_use: false },
    ])
    writeFileSync(join(directory, 'near.json'), JSON.stringify({ ...place, seq: head_seq - 1 }))
    mkdirSync(join(directory, 'session.json.lock'))
    const text = await words(t, scene)
    t.match(
      text,
      /\nconsumer {2}broken: its file is damaged\nconsumer {2}near: at seq \d+; 1 record of all personas follows\nconsumer {2}session: at seq \d+; 2 records of all personas follow, in use\n/,
    )
  },
)

const noPromtool = spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not here'

row('CL-53 metrics', 'of a producer at work', {}, async (t, scene) => {
  const lines = join(scene.home, 'out', '{persona}.ndjson')
  const producer = scene.start([...NF, '--events-file-template', lines])
  await scene.tells('armed(0)')
  scene.send('argus')
  await scene.tells('new 1')
  t.equal(await producer.stop(), 0, producer.stderr)
  const text = readFileSync(storePaths(scene.store).metrics, 'utf8')
  for (const pattern of [
    /^kim_wake_latency_seconds_count [1-9]/m,
    /^kim_journal_fsync_duration_seconds_count [1-9]/m,
    /^kim_poll_duration_seconds_count [1-9]/m,
    /^kim_journal_records_total\{type="message"\} 1$/m,
    /^kim_journal_segments 1$/m,
    /^kim_sink_behind_records\{sink="events-file-template"\} \d+$/m,
  ]) {
    t.match(text, pattern)
  }
  await t.test('promtool - finds nothing to mend', { skip: noPromtool }, async t => {
    const { status: code, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    })
    t.same([code, stderr], [0, ''])
  })
})
