import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { bin, Machine } from './doctor-machine.js'

const isRoot = process.getuid?.() === 0

t.test('doctor - does not wait for a pipe in run/', async t => {
  const machine = new Machine(t).fill()
  for (const name of ['health.json', 'lock', 'control.path']) {
    const path = join(machine.store, 'run', name)
    rmSync(path, { force: true })
    spawnSync('mkfifo', [path])
    const looked = spawnSync(process.execPath, [bin, 'status', '--store', machine.store], {
      env: machine.env,
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })
    t.equal(looked.status, 0, `status: ${name}`)
    if (looked.status !== 0) return
    await machine.look(t, 'producer')
    const seen = await machine.look(t, 'store-modes')
    t.match(seen, { status: 'fail', evidence: `${path}: not a regular file` })
    t.equal(spawnSync('sh', ['-c', /mv .*/.exec(seen.remedy ?? '')?.[0] ?? 'false']).status, 0)
    t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  }
})

t.test('doctor - a file that its owner cannot open, mended by what it names and by itself', async t => {
  const machine = new Machine(t).fill()
  const segments = machine.segments()
  const newest = segments.at(-1) ?? ''
  const lock = join(machine.store, 'run', 'lock')
  for (const [path, mode, why] of [
    [newest, 0o400, /mode 0400: its owner cannot write it$/],
    [segments[0] ?? '', 0o000, /mode 0000: its owner cannot read it$/],
    [lock, 0o200, /mode 0200: its owner cannot read it$/],
  ] as const) {
    chmodSync(path, mode)
    const seen = await machine.look(t, 'store-modes')
    t.match(seen, { status: 'fail', evidence: why })
    t.equal(seen.evidence.startsWith(path), true)
    t.equal(spawnSync('sh', ['-c', (seen.remedy ?? '').split('   ')[0] ?? 'false']).status, 0)
    t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
    chmodSync(path, mode)
    t.match(await machine.look(t, 'store-modes', '--fix'), { fixed: true })
    t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  }
  chmodSync(segments[0] ?? '', 0o400)
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' }, 'a sealed segment is never written')
})

t.test(
  'doctor - CL-64 a directory of a store that may not be looked into, with what gives it back',
  async t => {
    if (!isRoot) return
    const machine = new Machine(t).fill()
    spawnSync('chown', ['-R', '1235', machine.home])
    chmodSync(machine.home, 0o755)
    const look = (...flags: string[]): unknown => {
      const args = ['doctor', '--json', '--store', machine.store, '--only', 'store-modes', ...flags]
      const asked = spawnSync(process.execPath, [bin, ...args], { env: machine.env, uid: 1235, gid: 1235 })
      return (JSON.parse(String(asked.stdout)) as { checks: unknown[] }).checks[0]
    }
    for (const name of ['events', 'run']) {
      const directory = join(machine.store, name)
      chownSync(directory, 1234, 1234)
      t.match(look(), {
        status: 'fail',
        evidence: `${directory}: belongs to user 1234`,
        remedy: `if it is yours: sudo chown -R 1235 ${directory}`,
      })
      chownSync(directory, 1235, 1235)
      chmodSync(directory, 0o300)
      t.match(look(), {
        status: 'fail',
        evidence: `${directory}: mode 0300: its owner cannot list it`,
        remedy: `chmod 700 ${directory}`,
      })
      t.match(look('--fix'), { fixed: true })
      t.match(look(), { status: 'ok' })
    }
  },
)

t.test('doctor - a directory of root that others can write to is closed with sudo', async t => {
  if (!isRoot) return
  const machine = new Machine(t).fill()
  spawnSync('chown', ['-R', '1235', machine.store])
  const above = dirname(machine.store)
  chmodSync(machine.home, 0o755)
  chmodSync(above, 0o777)
  const args = ['doctor', '--json', '--store', machine.store, '--only', 'ancestors']
  const asked = spawnSync(process.execPath, [bin, ...args], { env: machine.env, uid: 1235, gid: 1235 })
  const { checks } = JSON.parse(String(asked.stdout)) as { checks: unknown[] }
  t.match(checks, [{ status: 'warn', remedy: `sudo chmod go-w ${above}` }])
})

/** A machine with the watermark of a sink, and where that and its directory are. */
function withWatermark(t: Test): { machine: Machine; file: string; directory: string } {
  const machine = new Machine(t).fill()
  const journal = openJournal({ storeDir: machine.store })
  const { projectId } = journal
  journal.close()
  const directory = join(machine.home, 'state', 'kim', 'clients', 'kim-producer', 'sinks', projectId)
  mkdirSync(directory, { recursive: true })
  const file = join(directory, '1.json')
  const ledger = { schema_version: 1, sink: 'file:/ev', passed: [2, null], held: [], names: [] }
  writeFileSync(file, JSON.stringify(ledger), { mode: 0o600 })
  return { machine, file, directory }
}

t.test('doctor - CL-64 a watermark of another owner is given back, and never given up', async t => {
  if (!isRoot) return
  const { machine, file, directory } = withWatermark(t)
  const before = readFileSync(file, 'utf8')
  chownSync(file, 1234, 1234)
  const seen = await machine.look(t, 'sinks')
  t.match(seen, { status: 'fail', evidence: `is off: ${file} belongs to user 1234, not to user 0` })
  t.notMatch(seen.remedy, /\brm\b/)
  spawnSync('sh', ['-c', /sudo (chown \S+ \S+)/.exec(seen.remedy ?? '')?.[1] ?? 'false'])
  t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: 'sinks: 1' })
  t.equal(readFileSync(file, 'utf8'), before)
  // What a user may not look into, as it is for everybody but root.
  spawnSync('chown', ['-R', '1235', machine.home])
  chownSync(directory, 1234, 1234)
  chmodSync(directory, 0o700)
  const args = ['doctor', '--json', '--store', machine.store, '--only', 'sinks']
  const asked = spawnSync(process.execPath, [bin, ...args], { env: machine.env, uid: 1235, gid: 1235 })
  const { checks } = JSON.parse(String(asked.stdout)) as { checks: unknown[] }
  t.match(checks, [
    {
      status: 'fail',
      evidence: `is off: ${directory} cannot be read: EACCES`,
      remedy: `sudo chown -R 1235 ${directory}; then start`,
    },
  ])
})

t.test('doctor - what stands in the place of a watermark is taken away by what it names', async t => {
  const { machine, file } = withWatermark(t)
  for (const make of [
    () => mkdirSync(file),
    () => spawnSync('mkfifo', [file]),
    () => symlinkSync(join(machine.home, 'nothing'), file),
  ]) {
    rmSync(file, { recursive: true, force: true })
    make()
    const seen = await machine.look(t, 'sinks')
    t.match(seen, {
      status: 'fail',
      evidence: /is off: .*does not hold a valid watermark/,
      remedy: /^restore the file; or begin at the head: /,
    })
    const command = /mv \S+ \S+/.exec(seen.remedy ?? '')?.[0] ?? 'false'
    t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
    t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: 'sinks: 0' })
    rmSync(`${file}.away`, { recursive: true, force: true })
  }
})

t.test('doctor - CL-64 a file of events that run would refuse for what it is', async t => {
  const machine = new Machine(t)
  mkdirSync(machine.home, { recursive: true })
  const at = (name: string): string => join(machine.home, name)
  writeFileSync(at('ev'), '', { mode: 0o600 })
  symlinkSync(at('ev'), at('link'))
  symlinkSync(at('nothing'), at('dangling'))
  for (const name of ['link', 'dangling']) {
    t.match(await machine.look(t, 'sinks', '--events-file', at(name)), {
      status: 'fail',
      evidence: `${at(name)}: it is a symbolic link`,
    })
  }
  const report = await machine.look(t, 'sinks', '--activity-file', at('link'))
  t.match(report, { status: 'unknown' }, 'a report takes the place of a link')
  linkSync(at('ev'), at('hard'))
  t.match(await machine.look(t, 'sinks', '--events-file', at('ev')), {
    status: 'fail',
    evidence: /it has a second name/,
  })
})

t.test('doctor - CL-64 a file of events of another owner, with the command that gives it back', async t => {
  if (!isRoot) return
  const machine = new Machine(t)
  const file = join(machine.home, 'my ev')
  writeFileSync(file, '', { mode: 0o600 })
  chownSync(file, 1234, 1234)
  const seen = await machine.look(t, 'sinks', '--events-file', file)
  t.match(seen, { status: 'fail', evidence: `${file}: it belongs to user 1234, not to user 0` })
  t.equal(spawnSync('sh', ['-c', /sudo (chown .*)/.exec(seen.remedy ?? '')?.[1] ?? 'false']).status, 0)
  t.match(await machine.look(t, 'sinks', '--events-file', file), { status: 'unknown' })
})

t.test('doctor - CL-64 a file where a store, or a directory above it, has to be', async t => {
  for (const part of ['state/store/events', 'state/store', 'state']) {
    const machine = new Machine(t)
    const path = join(machine.home, part)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, '')
    t.match(await machine.look(t, 'store-writable'), { status: 'unknown' }, part)
    const seen = await machine.look(t, 'store')
    t.match(seen, { status: 'fail', evidence: `${path} is not a directory` })
    t.equal(spawnSync('sh', ['-c', /mv .*/.exec(seen.remedy ?? '')?.[0] ?? 'false']).status, 0)
    t.match(await machine.look(t, 'store'), { status: 'warn', evidence: /there is no store/ })
    t.doesNotThrow(() => machine.fill())
  }
})

t.test(
  'doctor - does not wait for a pipe among the units',
  { skip: process.platform !== 'linux' },
  async t => {
    const machine = new Machine(t)
    const units = join(machine.home, 'config', 'systemd', 'user')
    mkdirSync(units, { recursive: true })
    spawnSync('mkfifo', [join(units, 'a.service')])
    const args = ['doctor', '--json', '--store', machine.store, '--only', 'service']
    const asked = spawnSync(process.execPath, [bin, ...args], {
      env: machine.env,
      timeout: 20_000,
      killSignal: 'SIGKILL',
    })
    t.equal(asked.status, 0, String(asked.stderr))
  },
)
