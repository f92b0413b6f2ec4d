import { execFileSync, spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ALL, complete, directory, fillableDisk, NF, row, type Scene } from '../../kit/kijito/index.js'
import { linesIn, mail, parsed, said, told, wholeLines, wholeLinesIn } from './lines.js'

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** Sends so many messages to a persona. */
function burst(scene: Scene, count: number, to = 'argus'): void {
  for (let n = 0; n < count; n++) scene.send(to, 'river', { content: `message ${n}` })
}

const ids = (from: number, count: number): number[] => Array.from({ length: count }, (_, n) => from + n)

row(
  'C10',
  'rotated files hold everything once and in order, the newest ones are kept',
  {},
  async (t, scene) => {
    const few = join(scene.home, 'few', 'ev.ndjson')
    const all = join(scene.home, 'all', 'ev.ndjson')
    const size = ['--max-bytes', '1500']
    const first = scene.start([
      ...NF,
      '--max-replay',
      '100',
      '--events-file',
      few,
      ...size,
      '--keep-logs',
      '2',
    ])
    await scene.tells('armed(0)')
    burst(scene, 40)
    await scene.tells('new 40')
    await scene.until('they are told', () => newestMail(few).includes(40))
    await first.stop()
    t.same(readdirSync(join(scene.home, 'few')).sort(), ['ev.ndjson', 'ev.ndjson.1', 'ev.ndjson.2'])
    const kept = [`${few}.2`, `${few}.1`, few].flatMap(path => mail(linesIn(path)))
    t.same(kept, ids(41 - kept.length, kept.length), 'in order')
    for (const name of [few, `${few}.1`, `${few}.2`]) t.ok(statSync(name).size <= 1500, name)
    const second = scene.start([
      ...NF,
      '--max-replay',
      '100',
      '--events-file',
      all,
      ...size,
      '--keep-logs',
      '100',
    ])
    await scene.until('it is armed', () => wholeLinesIn(all).length > 0)
    burst(scene, 40)
    await scene.until('they are told', () => newestMail(all).includes(80))
    await second.stop()
    const names = readdirSync(join(scene.home, 'all')).sort((a, b) => number(b) - number(a))
    const everything = names.flatMap(name => mail(linesIn(join(scene.home, 'all', name))))
    t.same(everything, ids(41, 40), 'every message exactly once')
  },
)

/** The mail of an event file and of the one before it: what follows the last message may rotate it away. */
const newestMail = (path: string): number[] => [`${path}.1`, path].flatMap(name => mail(wholeLinesIn(name)))

const number = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)

row('C10 tail', 'a follower by name gets every line of a burst that rotates', {}, async (t, scene) => {
  const path = join(scene.home, 'ev.ndjson')
  writeFileSync(path, '', { mode: 0o600 })
  const follower = spawn('tail', ['-n', '+1', '-F', '-s', '0.05', path], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => follower.kill('SIGKILL'))
  let heard = ''
  follower.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    heard += chunk
  })
  scene.start([
    ...NF,
    '--max-replay',
    '1000',
    '--events-file',
    path,
    '--max-bytes',
    '60000',
    '--keep-logs',
    '50',
  ])
  await scene.tells('armed(0)')
  burst(scene, 200)
  await scene.tells('new 200')
  await scene.until('all of it is heard', () => mail(wholeLines(heard)).includes(200))
  t.same(mail(wholeLines(heard)), ids(1, 200))
  t.ok(existsSync(`${path}.1`), 'it was rotated')
})

row(
  'C10 moved',
  'a file that another program rotates or removes is begun again',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const path = join(scene.home, 'ev.ndjson')
    scene.newest(complete(4))
    scene.start([...NF, '--events-file', path])
    await scene.until('it is armed', () => wholeLinesIn(path).length === 1)
    renameSync(path, `${path}.old`)
    scene.clear()
    scene.newest(complete(4, 5))
    await scene.until('5 is announced', () => mail(wholeLinesIn(path)).includes(5))
    rmSync(path)
    scene.clear()
    scene.newest(complete(4, 5, 6))
    await scene.until('6 is announced', () => mail(wholeLinesIn(path)).includes(6))
    t.same(told(linesIn(`${path}.old`)), ['armed(4)'])
    t.same(told(linesIn(path)), ['new 6'])
  },
)

row('J1', 'a shared event file that is none is refused at the start (CL-12)', {}, async (t, scene) => {
  const at = (name: string): string => join(scene.home, name)
  const target = at('target')
  writeFileSync(target, 'mine', { mode: 0o600 })
  symlinkSync(target, at('link'))
  symlinkSync(at('nothing'), at('dangling'))
  linkSync(target, at('hard'))
  execFileSync('mkfifo', [at('fifo')])
  mkdirSync(at('directory'))
  for (const name of ['link', 'hard', 'dangling', 'fifo', 'directory']) {
    const producer = scene.start([...NF, '--events-file', at(name)])
    t.equal(await producer.ended, 2, name)
    t.match(producer.stderr, /--events-file: .*\n {2}/, name)
  }
  t.equal(readFileSync(target, 'utf8'), 'mine')
  t.notOk(existsSync(at('nothing')))
  t.same(scene.asked(), [])
})

row(
  'J2',
  "a persona's file that is none is waited for, and nothing goes elsewhere (KS-72)",
  { standing: { cursor: 5 } },
  async (t, scene) => {
    const link = join(scene.home, 'ev.argus.ndjson')
    symlinkSync(join(scene.home, 'nothing'), link)
    scene.newest(complete(5, 6))
    const producer = scene.start([...NF, '--events-file-template', join(scene.home, 'ev.{persona}.ndjson')])
    await scene.tells('new 6')
    await scene.until('it is said', () => said(producer.stderr, 'sink_failing').length > 0)
    t.match(said(producer.stderr, 'sink_failing'), [{ persona: 'argus', event_id: /armed/ }])
    rmSync(link)
    await scene.until('6 is announced', () => mail(wholeLinesIn(link)).includes(6))
    t.same(told(linesIn(link)), ['armed(5)', 'new 6'])
    await scene.until('it is said', () => said(producer.stderr, 'sink_working').length > 0)
    t.equal(said(producer.stderr, 'sink_failing').length, 1)
    t.equal(producer.stdout, '')
    t.notOk(existsSync(join(scene.home, 'nothing')))
  },
)

row('J4', 'a directory that others may write to is named', {}, async (t, scene) => {
  const open = join(scene.home, 'open')
  mkdirSync(open)
  chmodSync(open, 0o777)
  scene.newest(complete(5))
  const producer = scene.start([...NF, '--events-file', join(open, 'ev.ndjson')])
  await scene.until('it is announced', () => wholeLinesIn(join(open, 'ev.ndjson')).length > 0)
  t.equal(await producer.stop(), 0)
  t.match(said(producer.stderr, 'unsafe_directory'), [{ msg: new RegExp(open) }], 'once')
})

row('K17', "one persona's hostile file is no other persona's (KS-59, KS-72)", {}, async (t, scene) => {
  const path = (persona: string): string => join(scene.home, `ev.${persona}.ndjson`)
  scene.rule({ on: { endpoint: 'personas' }, effect: [directory('argus', 'loom', 'river')] })
  mkdirSync(path('loom'))
  const producer = scene.start([...ALL, '--events-file-template', path('{persona}')])
  await scene.until('two are armed', () =>
    ['argus', 'river'].every(name => wholeLinesIn(path(name)).length > 0),
  )
  scene.send('loom', 'argus')
  scene.send('river', 'argus')
  await scene.until('mail is announced', () => mail(wholeLinesIn(path('river'))).length === 1)
  await scene.tells('new 1', 1, 'loom')
  await scene.until('it is said', () => said(producer.stderr, 'sink_failing').length > 0)
  t.same(
    said(producer.stderr, 'sink_failing').map(({ persona }) => persona),
    ['loom'],
  )
  rmSync(path('loom'), { recursive: true })
  await scene.until('loom catches up', () => mail(wholeLinesIn(path('loom'))).length === 1)
  t.same(told(linesIn(path('loom'))), ['armed(0)', 'new 1'])
  t.same(told(linesIn(path('river'))), ['armed(0)', 'new 2'], 'nothing is announced twice elsewhere')
})

row('K16', 'names of personas make files, never paths (KS-68, KS-70)', {}, async (t, scene) => {
  const names = [
    'a/b',
    'a_b',
    '..',
    '../../etc/x',
    'x'.repeat(300),
    'River',
    'river',
    'CON',
    '__proto__',
    'é',
  ]
  scene.rule({ on: { endpoint: 'personas' }, effect: [directory(...names)] })
  const files = join(scene.home, 'files', 'deep')
  const first = scene.start([...ALL, '--events-file-template', join(files, '{persona}.ndjson')])
  await scene.until('each has a file', () => existsSync(files) && readdirSync(files).length === names.length)
  await first.stop()
  const before = readdirSync(files).sort()
  const owners = before.map(name => new Set(linesIn(join(files, name)).map(({ persona }) => persona)))
  t.ok(owners.every(({ size }) => size === 1))
  t.same(owners.flatMap(owner => [...owner]).sort(), [...names].sort())
  t.same(readdirSync(join(scene.home, 'files')), ['deep'])
  const second = scene.start([...ALL, '--events-file-template', join(files, '{persona}.ndjson')])
  await scene.until('each is announced again', () =>
    before.every(name => wholeLinesIn(join(files, name)).length === 2),
  )
  await second.stop()
  t.same(readdirSync(files).sort(), before, 'who has a name keeps it')
})

row('I18', 'directories that are made are 0700 and files 0600, at every level', {}, async (t, scene) => {
  const path = join(scene.home, 'a', 'b', 'c', 'ev.ndjson')
  scene.newest(complete(5))
  const producer = scene.start([...NF, '--events-file', path])
  await scene.until('it is armed', () => wholeLinesIn(path).length > 0)
  // While it runs, a file that is about to be renamed may be among the watermarks.
  t.equal(await producer.stop(), 0)
  t.same(
    ['a', 'a/b', 'a/b/c'].map(name => modeOf(join(scene.home, name))),
    [0o700, 0o700, 0o700],
  )
  t.equal(modeOf(path), 0o600)
  const state = join(scene.home, 'state', 'kim', 'clients', 'kim-producer', 'sinks')
  const [project = ''] = readdirSync(state)
  t.equal(modeOf(join(state, project)), 0o700)
  for (const name of readdirSync(join(state, project))) t.equal(modeOf(join(state, project, name)), 0o600)
})

row(
  'I19',
  'event files that are too open are made private, others stay as they are',
  {},
  async (t, scene) => {
    const path = join(scene.home, 'ev.ndjson')
    const names = [path, `${path}.1`, `${path}.7`, `${path}.bak`]
    for (const name of names) {
      writeFileSync(name, '')
      chmodSync(name, 0o644)
    }
    scene.newest(complete(5))
    scene.start([...NF, '--events-file', path])
    await scene.until('it is armed', () => wholeLinesIn(path).length > 0)
    t.same(names.map(modeOf), [0o600, 0o600, 0o600, 0o644])
  },
)

row(
  'KS-72 torn',
  'a line that was cut is ended before the next one',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const path = join(scene.home, 'ev.ndjson')
    writeFileSync(path, '{"event": "ne', { mode: 0o600 })
    scene.newest(complete(4, 5))
    scene.start([...NF, '--events-file', path])
    await scene.until('5 is announced', () => /"id": 5,.*\n$/.test(readFileSync(path, 'utf8')))
    const [torn, ...rest] = readFileSync(path, 'utf8').split('\n')
    t.equal(torn, '{"event": "ne')
    t.same(told(parsed(rest.join('\n'))), ['armed(4)', 'new 5'])
  },
)

row(
  'KS-72 spoilt',
  'a watermark that is none is never taken for no watermark',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const path = join(scene.home, 'ev.ndjson')
    scene.newest(complete(4))
    const first = scene.start([...NF, '--events-file', path])
    await scene.until('it is armed', () => wholeLinesIn(path).length === 1)
    await first.stop()
    const state = join(scene.home, 'state', 'kim', 'clients', 'kim-producer', 'sinks')
    const [project = ''] = readdirSync(state)
    const [name = ''] = readdirSync(join(state, project))
    appendFileSync(join(state, project, name), 'x')
    scene.clear()
    scene.newest(complete(4, 5))
    const second = scene.start([...NF, '--events-file', path])
    await scene.tells('new 5')
    t.match(said(second.stderr, 'sink_off'), [{ hint: /restore the file/ }])
    t.equal(linesIn(path).length, 1)
  },
)

row('KS-72 full', 'a full disk under event files holds them, and nothing else', {}, async (t, scene) => {
  const files = join(scene.home, 'files')
  const path = join(files, 'ev.ndjson')
  const flag = join(scene.home, 'full')
  const flags = [...NF, '--max-replay', '100', '--events-file', path]
  const producer = scene.start(flags, { KIM_TOKEN: 'tok' }, fillableDisk(files, flag))
  await scene.until('it is armed', () => wholeLinesIn(path).length === 1)
  burst(scene, 3)
  await scene.until('three are told', () => mail(wholeLinesIn(path)).includes(3))
  writeFileSync(flag, '')
  burst(scene, 10)
  await scene.tells('new 13')
  await scene.until('it is said', () => said(producer.stderr, 'sink_failing').length > 0)
  await scene.polls(2)
  t.notOk(readFileSync(path, 'utf8').includes('"id": 13'))
  rmSync(flag)
  await scene.until('the rest is announced', () => /"id": 13,.*\n$/.test(readFileSync(path, 'utf8')))
  t.equal(said(producer.stderr, 'sink_failing').length, 1)
  t.same(said(producer.stderr, 'disk_full'), [], 'the journal has a disk of its own')
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const whole = lines.filter(line => line.endsWith('}'))
  t.ok(lines.length > whole.length, 'what was cut is ended and stands alone')
  t.same(mail(parsed(`${whole.join('\n')}\n`)), ids(1, 13), 'each once, in order')
})

row(
  'I17',
  'watermarks that cannot be kept stop nothing, and are said (KS-72, KS-73)',
  {},
  async (t, scene) => {
    const path = join(scene.home, 'ev.ndjson')
    // A right that is missing stops everybody but root; what stands in the way of a directory stops root too.
    const state = join(scene.home, 'state')
    if (process.getuid?.() === 0) writeFileSync(state, '')
    else mkdirSync(state, { mode: 0o500 })
    const producer = scene.start([...NF, '--events-file', path])
    await scene.until('it is armed', () => wholeLinesIn(path).length === 1)
    burst(scene, 2)
    await scene.until('two are told', () => mail(wholeLinesIn(path)).includes(2))
    t.equal(said(producer.stderr, 'sink_trouble').length, 1)
    const asked = scene.run(['status', '--store', scene.store])
    t.equal(await scene.endOf(asked), 0, asked.stderr)
    t.match(asked.stdout, /\nsink {6}file:.*; cannot store the watermark: /, 'for who looks later')
    const doctor = scene.run(['doctor', '--only', 'sinks', '--store', scene.store])
    t.equal(await scene.endOf(doctor), 1, doctor.stdout)
    t.match(doctor.stdout, /^fail +sinks +file:.*: cannot store the watermark: /)
    t.equal(await producer.stop(), 0)
  },
)

row('KS-73 full', 'a full disk under the watermarks delivers all the same', {}, async (t, scene) => {
  const path = join(scene.home, 'ev.ndjson')
  const flag = join(scene.home, 'full')
  writeFileSync(flag, '')
  const state = join(scene.home, 'state')
  const producer = scene.start(
    [...NF, '--events-file', path],
    { KIM_TOKEN: 'tok' },
    fillableDisk(state, flag),
  )
  await scene.until('it is armed', () => wholeLinesIn(path).length === 1)
  burst(scene, 3)
  await scene.until('three are told', () => mail(wholeLinesIn(path)).includes(3))
  t.equal(said(producer.stderr, 'sink_trouble').length, 1)
  rmSync(flag)
  await scene.until('it is over', () => said(producer.stderr, 'sink_trouble_over').length === 1)
  await producer.stop()
  scene.start([...NF, '--events-file', path])
  await scene.until('it is armed again', () => told(wholeLinesIn(path)).includes('armed(3)'))
  t.same(mail(linesIn(path)), ids(1, 3), 'nothing is announced again')
})
