import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ALL, complete, counts, directory, NF, page, row, type Scene } from '../../kit/kijito/index.js'
import { linesIn, mail, said, told, wholeLinesIn } from './lines.js'

/** A state file as the older monitor leaves it, for a persona of the scene's server. */
function stateOf(
  scene: Scene,
  persona: string,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const { protocol, hostname, port } = new URL(scene.url)
  const identity = [protocol.slice(0, -1), hostname, Number(port), '/api/inbox', [['persona', persona]]]
  return { identity, cursor: 4, state: 'UP', consecutive_failures: 0, ...more }
}

function put(scene: Scene, name: string, content: unknown): string {
  const path = join(scene.home, name)
  const text = typeof content === 'string' || Buffer.isBuffer(content) ? content : JSON.stringify(content)
  writeFileSync(path, text as string, { mode: 0o600 })
  return path
}

/** Runs the import; gives its exit code and what it printed. */
async function imported(
  scene: Scene,
  paths: readonly string[],
  ...flags: readonly string[]
): Promise<{ code: unknown; out: string; err: string }> {
  const files = paths.flatMap(path => ['--state-file', path])
  const run = scene.run(['import', '--store', scene.store, ...files, ...flags])
  return { code: await run.ended, out: run.stdout, err: run.stderr }
}

/** Shows that a file is refused, with a word about why, and that nothing was appended. */
async function refused(t: Test, scene: Scene, content: unknown, why: RegExp, what: string): Promise<void> {
  const path = put(scene, 'hive.argus.json', content)
  const { code, err, out } = await imported(scene, [path])
  t.equal(code, 2, what)
  t.match(err, why, what)
  t.equal(out, '', what)
  t.notOk(existsSync(scene.store), `${what}: no store is made`)
}

/** Who holds and follows a file is told by no other system. */
const isLinux = process.platform === 'linux'

const DAMAGED = ['\ufeff{"cursor":3}', '', ' \n', '{no', '[]', '"x"', '3', 'NaN', '{"cursor":3}']

row('I1 I6 I7 I8 I9', 'a damaged state file is refused, and nothing is appended', {}, async (t, scene) => {
  for (const text of DAMAGED) await refused(t, scene, text, /damaged/, JSON.stringify(text))
})

row('I2', 'members of other types are refused', {}, async (t, scene) => {
  const odd = [
    { cursor: '4' },
    { cursor: true },
    { cursor: 4.5 },
    { cursor: 2 ** 53 },
    { state: 'up' },
    { consecutive_failures: '0' },
    { consecutive_failures: true },
    { consecutive_failures: -1 },
  ]
  for (const more of odd)
    await refused(t, scene, stateOf(scene, 'argus', more), /its (cursor|state|consec)/, JSON.stringify(more))
  const text = JSON.stringify(stateOf(scene, 'argus'))
  for (const cursor of ['4.0', '1e3', '4E0'])
    await refused(t, scene, text.replace('"cursor":4', `"cursor":${cursor}`), /its cursor/, cursor)
  const [scheme, , port, path, query] = stateOf(scene, 'argus')['identity'] as unknown[]
  for (const host of ['..', 'a:b:c', '::::', 'a..b', ''])
    await refused(
      t,
      scene,
      stateOf(scene, 'argus', { identity: [scheme, host, port, path, query] }),
      /hive\.argus\.json: its identity/,
      host,
    )
  const long = [scheme, 'localhost', port, path, [['persona', 'argus', 'z']]]
  await refused(
    t,
    scene,
    stateOf(scene, 'argus', { identity: long }),
    /exactly one persona/,
    'a pair of three',
  )
})

row(
  'I3 I4',
  'what an open gap needs is refused where it is odd, and where it is there',
  {},
  async (t, scene) => {
    const odd = [
      { pin_forced: 1 },
      { pin_evidence_intact: 0 },
      { state_corrupt: 'true' },
      { gap_alerted: true },
      { pin_release_at: '1' },
      { emitted_above: ['x'] },
      { emitted_above: [true, 5] },
    ]
    for (const more of odd)
      await refused(
        t,
        scene,
        stateOf(scene, 'argus', more),
        /neither|not a (whole|list)/,
        JSON.stringify(more),
      )
    const open = [
      { emitted_above: [6, 8] },
      { pin_forced: true },
      { state_corrupt: true },
      { pin_evidence_intact: false },
    ]
    for (const more of open)
      await refused(t, scene, stateOf(scene, 'argus', more), /an open gap/, JSON.stringify(more))
    const halves = [{ gap_alerted: 4 }, { gap_alerted: 4, emitted_above: [] }, { pin_release_at: 9 }]
    for (const more of halves)
      await refused(
        t,
        scene,
        stateOf(scene, 'argus', more),
        /has gap_alerted|has pin_release_at/,
        JSON.stringify(more),
      )
  },
)

row('I5', 'what says nothing is passed over, and all else is taken over', {}, async (t, scene) => {
  const path = put(
    scene,
    'argus.json',
    stateOf(scene, 'argus', { unread_hidden: 1, pin_forced: null, emitted_above: [3], more: {} }),
  )
  const { code, out } = await imported(scene, [path], '--json')
  t.equal(code, 0)
  t.match(JSON.parse(out), {
    dry_run: false,
    taken_over: 1,
    personas: [{ persona: 'argus', cursor: 4, outcome: 'taken_over' }],
  })
  scene.newest(complete(3, 4, 6))
  scene.start(NF)
  await scene.tells('new 6')
  t.same(scene.story(), ['armed(4)', 'new 6'], 'what was told is not told again')
  t.same(scene.silent(), [3, 4], 'and stands in the journal')
})

row('I1 twice', 'a member that stands twice is damage, whichever is meant', {}, async (t, scene) => {
  const state = JSON.stringify(stateOf(scene, 'argus', { more: { 'a:"b': [{ c: ':' }] } }))
  for (const twice of ['"c\\u0075rsor":900', '"other":{"a":1,"a":1}'])
    await refused(t, scene, state.replace('{', `{${twice},`), /twice/, twice)
  const { code } = await imported(scene, [put(scene, 'argus.json', state)])
  t.equal(code, 0, 'without it, it is taken over')
})

row('I11 usable', 'a persona that cannot be watched is refused (KS-67, KS-70)', {}, async (t, scene) => {
  for (const name of [' argus ', 'é'.repeat(600)])
    await refused(t, scene, stateOf(scene, name), /an invalid persona/, JSON.stringify(name.slice(0, 10)))
})

row(
  'KS-88 spelling',
  'E6: a file of an inbox whose case changed is taken over under the new spelling',
  {},
  async (t, scene) => {
    const path = put(scene, 'hive.argus.json', stateOf(scene, 'ARGUS'))
    const wrong = await imported(scene, [path], '--persona', 'river')
    t.match([wrong.code, wrong.err], [2, /no state file is about river, in any spelling/])
    const { code, out, err } = await imported(scene, [path], '--persona', 'argus')
    t.equal(code, 0, err)
    t.match(out, /\nargus: announced up to 4\n/)
    const street = put(scene, 'hive.strasse.json', stateOf(scene, 'Straße'))
    t.equal((await imported(scene, [street])).code, 0, 'the name of its own file')
    scene.newest(complete(3, 4, 6))
    scene.start(NF)
    await scene.tells('new 6')
    t.notMatch(scene.story().join(), /seed_ahead|baseline_skipped/)
  },
)

row(
  'I5 negative',
  'a cursor below the first message, as a seed could be: nothing was told',
  {},
  async (t, scene) => {
    const path = put(scene, 'argus.json', stateOf(scene, 'argus', { cursor: -5 }))
    const { code, out } = await imported(scene, [path])
    t.match([code, out], [0, /argus: announced up to 0\n/])
    scene.newest(complete(3, 4))
    scene.start(NF)
    await scene.tells('new 4')
    t.same(scene.story(), ['armed(0)', 'new 3', 'new 4'])
  },
)

row(
  'import files',
  'where no event file is found, that is said, and where was looked',
  {},
  async (t, scene) => {
    put(scene, 'hive.argus.json', stateOf(scene, 'argus'))
    put(scene, 'hive.river.json', stateOf(scene, 'river'))
    const base = join(scene.home, 'hive.json')
    const template = join(scene.home, '{persona}.ndjson')
    t.match(
      (await imported(scene, [base], '--dry-run')).out,
      /\nno event file of argus, river at the usual places; .*--events-file-template\nif more than 50 messages wait .*--max-replay N\n$/,
    )
    writeFileSync(join(scene.home, 'argus.ndjson'), '', { mode: 0o600 })
    const { out } = await imported(scene, [base], '--dry-run', '--events-file-template', template)
    t.equal(out.split('\n').at(-3), `no event file of river at ${template}`)
  },
)

row('I10', 'bytes that are no text are refused', {}, async (t, scene) => {
  await refused(t, scene, Buffer.from([0xff, 0xfe, 0x7b]), /damaged/, 'ff fe 7b')
})

row('I11 I13 I13b', 'a file about something else is refused', {}, async (t, scene) => {
  await refused(t, scene, stateOf(scene, 'river'), /its file name is for another persona/, 'another persona')
  const of = (...identity: unknown[]): object => ({ ...stateOf(scene, 'argus'), identity })
  await refused(
    t,
    scene,
    of('http', 'localhost', 7474, '/API/inbox', [['persona', 'argus']]),
    /not an inbox/,
    'path',
  )
  for (const identity of ['idx', null, [], ['http'], ['ftp', 'h', 1, '/api/inbox', []]]) {
    await refused(
      t,
      scene,
      { ...stateOf(scene, 'argus'), identity },
      /identity is damaged/,
      JSON.stringify(identity),
    )
  }
  await refused(
    t,
    scene,
    of('http', 'localhost', 7474, '/api/inbox', []),
    /exactly one persona/,
    'no persona',
  )
  const here = put(scene, 'hive.loom.json', stateOf(scene, 'loom'))
  const there = put(
    scene,
    'hive.argus.json',
    of('https', 'api.kijito.ai', 443, '/api/inbox', [['persona', 'argus']]),
  )
  const both = await imported(scene, [here, there])
  t.equal(both.code, 2)
  t.match(both.err, /is about https:\/\/api\.kijito\.ai, not http/, 'two servers')
  const wrong = await imported(scene, [here], '--url', 'https://api.kijito.ai')
  t.match([wrong.code, wrong.err], [2, /not https:\/\/api\.kijito\.ai/], 'another than was said')
  t.notOk(existsSync(scene.store))
})

row('I12', 'a persona is taken over as it is spelled inside the file', {}, async (t, scene) => {
  const { code, out } = await imported(
    scene,
    [put(scene, 'hive.argus.json', stateOf(scene, 'ARGUS'))],
    '--json',
  )
  t.match([code, JSON.parse(out)], [0, { personas: [{ persona: 'ARGUS' }] }])
})

row('I14 I15', 'what is no file of ours is refused without a touch', {}, async (t, scene) => {
  const target = put(scene, 'target.json', stateOf(scene, 'argus', { cursor: 999 }))
  const at = (name: string): string => join(scene.home, name)
  symlinkSync(target, at('link.argus.json'))
  execFileSync('mkfifo', [at('fifo.argus.json')])
  mkdirSync(at('directory.argus.json'))
  const before = statSync(target)
  for (const name of ['link', 'fifo', 'directory']) {
    const { code, err } = await imported(scene, [at(`${name}.argus.json`)])
    t.match([code, err], [2, /cannot be opened|not a regular file/], name)
  }
  t.equal(statSync(target).mtimeMs, before.mtimeMs)
  const nothing = await imported(scene, [at('none.json')])
  t.match([nothing.code, nothing.err], [2, /there is no state file/])
  t.notOk(existsSync(scene.store))
})

row('I16', 'an older monitor that still runs is refused: its cursor moves on', {}, async (t, scene) => {
  if (!isLinux) return
  const path = put(scene, 'hive.argus.json', stateOf(scene, 'argus'))
  const holder = spawn('flock', [`${path}.lock`, 'sh', '-c', 'echo held; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  await new Promise(resolve => holder.stdout.once('data', resolve))
  const held = await imported(scene, [path])
  t.match([held.code, held.err], [75, /process \d+ uses it: flock /])
  t.notOk(existsSync(scene.store))
})

row(
  'import all',
  'all files are taken over, or none; a second time changes nothing',
  {},
  async (t, scene) => {
    put(scene, 'hive.argus.json', stateOf(scene, 'argus'))
    put(scene, 'hive.loom.json', stateOf(scene, 'loom', { cursor: null }))
    const base = join(scene.home, 'hive.json')
    put(scene, 'hive.river.json', '{no')
    const bad = await imported(scene, [base])
    t.match([bad.code, bad.err], [2, /hive\.river\.json/])
    t.notOk(existsSync(scene.store))
    put(scene, 'hive.river.json', stateOf(scene, 'river', { cursor: 7 }))
    const dry = await imported(scene, [base], '--dry-run', '--json')
    t.match(JSON.parse(dry.out), { dry_run: true, taken_over: 2 })
    t.notOk(existsSync(scene.store), 'a dry run makes nothing')
    const first = await imported(scene, [base], '--json')
    t.match(JSON.parse(first.out), {
      taken_over: 2,
      personas: [
        { persona: 'argus', outcome: 'taken_over' },
        { persona: 'loom', outcome: 'no_cursor', cursor: null },
        { persona: 'river', outcome: 'taken_over', cursor: 7 },
      ],
    })
    const records = scene.records().length
    const second = await imported(scene, [base])
    t.match([second.code, second.out], [0, /argus: was imported before, at 4\n/])
    t.equal(scene.records().length, records)
    put(scene, 'hive.river.json', stateOf(scene, 'river', { cursor: 9 }))
    const later = await imported(scene, [base])
    t.match([later.code, later.err], [2, /the journal already has river, with mail up to message 7\n/])
    t.equal(scene.records().length, records)
  },
)

row('import late', 'after the first run: refused with the way on, which works', {}, async (t, scene) => {
  scene.newest(complete(3, 4, 6))
  const early = scene.start(NF)
  await scene.tells('armed(6)')
  t.equal(await early.stop(), 0, early.stderr)
  const argus = put(scene, 'hive.argus.json', stateOf(scene, 'argus'))
  const late = await imported(scene, [argus])
  t.equal(late.code, 2)
  t.match(late.err, /the journal already has argus/)
  t.match(late.err, /\n {2}nothing was appended: import before the first run/)
  t.notMatch(late.err, /other inboxes/)
  const river = put(scene, 'hive.river.json', stateOf(scene, 'river'))
  t.match((await imported(scene, [argus, river])).err, /import only the files of the other inboxes\n/)
  const [, move = 'false'] = /stopped: (mv .*?),/.exec(late.err) ?? []
  execFileSync('sh', ['-c', move])
  t.equal((await imported(scene, [argus])).code, 0)
  scene.start(NF)
  await scene.tells('new 6')
  t.same(
    readdirSync(scene.home).filter(name => name.startsWith('store.')),
    ['store.before-import'],
  )
})

row(
  'import down',
  'a condition that was announced is not announced again, and its end is',
  {},
  async (t, scene) => {
    const path = put(
      scene,
      'hive.argus.json',
      stateOf(scene, 'argus', { state: 'DOWN', consecutive_failures: 5, unread_hidden: true }),
    )
    t.equal((await imported(scene, [path])).code, 0)
    scene.newest({ status: 500 })
    scene.start([...NF, '--alert-after', '1'])
    await scene.polls(2)
    t.same(scene.story(), [])
    scene.clear()
    scene.newest(page([4, 5], { unread_not_shown: 0 }))
    await scene.tells('cleared unread-not-shown')
    t.same(scene.story(), ['recovered', 'armed(4)', 'new 5', 'cleared unread-not-shown'])
  },
)

/** What a consumer of the older monitor greps for. */
const WAKING =
  '"event": ?"(new|alert|recovered|state_corrupt|baseline_skipped|seed_ahead|replay_capped|persona_added)"'

row('switch-over', 'a machine moves over: nothing is lost, no reader wakes twice', {}, async (t, scene) => {
  // The older monitor has told argus up to 104 and river up to 90; 105 came while nobody ran.
  const files = join(scene.home, '.kijito-monitor')
  mkdirSync(files, { mode: 0o700 })
  const old = (persona: string): string => join(files, `${persona}.jsonl`)
  const line = (id: number): string =>
    `{"event": "new", "source": "kijito-inbox", "ts": "2026-06-10T14:03:22.114342+00:00", "id": ${id}, "persona": "argus", "event_id": "argus:new:${id}"}\n`
  writeFileSync(old('argus'), line(103) + line(104), { mode: 0o600 })
  writeFileSync(old('river'), '', { mode: 0o644 })
  put(scene, 'hive.argus.json', stateOf(scene, 'argus', { cursor: 104 }))
  put(scene, 'hive.river.json', stateOf(scene, 'river', { cursor: 90 }))
  const consumer = spawn(
    'sh',
    ['-c', `tail -n 0 -s 0.1 -F '${old('argus')}' | grep -E --line-buffered '${WAKING}'`],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    },
  )
  t.teardown(() => process.kill(-(consumer.pid ?? 0), 'SIGKILL'))
  let heard = ''
  consumer.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    heard += chunk
  })
  scene.rule({ on: { endpoint: 'personas' }, effect: [directory('argus', 'river')] })
  scene.pending(counts({ argus: 3, river: 0 }, 'c1'))
  scene.newest(complete(102, 103, 104, 105))
  scene.rule({ on: { endpoint: 'inbox', persona: 'river' }, effect: [complete(88, 90)] })
  const followed = async (): Promise<unknown[]> => {
    const { out } = await imported(scene, [join(scene.home, 'hive.json')], '--json', '--dry-run')
    const { personas } = JSON.parse(out) as { personas: { event_files: { followers: unknown[] }[] }[] }
    return personas.flatMap(({ event_files }) => event_files.flatMap(({ followers }) => followers))
  }
  while (isLinux && (await followed()).length === 0);
  const { code, out } = await imported(scene, [join(scene.home, 'hive.json')])
  t.equal(code, 0)
  t.match(out, /imported 2 inboxes of /)
  if (isLinux)
    t.match(
      out,
      new RegExp(`${old('argus')}\n  followed by process \\d+: tail -n 0 -s 0.1 -F .*argus.jsonl\n`),
    )
  t.match(
    out,
    /to replace the reader of this file: kim-tail --store .* --persona argus -f -o monitor --consumer argus --start earliest\n/,
  )
  t.ok(
    out.includes(`install the service with --events-file-template '${join(files, '{persona}.jsonl')}'\n`),
    'the flag as it is to be typed',
  )
  t.match(
    out,
    /river\.jsonl: no process has it open now .* cannot be seen\)\n {2}warning: other users can read it; .*0600/,
  )
  t.equal(out.match(/other users can read it/g)?.length, 1, 'of that file alone')
  const producer = scene.start([...ALL, '--events-file-template', join(files, '{persona}.jsonl')])
  await scene.until('105 is heard', () => heard.includes('"id": 105'))
  scene.clear()
  scene.rule({ on: { endpoint: 'personas' }, effect: [directory('argus', 'river')] })
  scene.newest(complete(103, 104, 105, 106))
  scene.rule({ on: { endpoint: 'inbox', persona: 'river' }, effect: [complete(88, 90, 91)] })
  scene.pending(counts({ argus: 4, river: 1 }, 'c2'))
  await scene.until('106 is heard', () => /"id": 106,.*\n$/.test(heard))
  await scene.until('river has its event', () => mail(wholeLinesIn(old('river'))).includes(91))
  t.same(
    heard
      .split('\n')
      .slice(0, -1)
      .map(text => (JSON.parse(text) as { event_id: string }).event_id),
    ['argus:new:105', 'argus:new:106'],
    'woken once for each, and for nothing that was told before',
  )
  t.same(told(linesIn(old('river'))), ['armed(90)', 'new 91'])
  t.equal(readFileSync(old('argus'), 'utf8').indexOf(line(103) + line(104)), 0, 'the old file goes on')
  t.same(scene.silent().sort(), [102, 103, 104])
  t.same(said(producer.stderr, 'sink_failing'), [])
})
