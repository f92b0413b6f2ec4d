import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'
import { closedDirectory } from '../kit/kijito/preloads.js'
import { bin, Machine } from './doctor-machine.js'

const isRoot = process.getuid?.() === 0

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
  t.match(seen, { status: 'fail', evidence: /: other users can access it \(mode 0644\)/, fixed: false })
  const [command = ''] = (seen.remedy ?? '').split('   ')
  t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  chmodSync(join(machine.store, 'events'), 0o755)
  t.match(await machine.look(t, 'store-modes', '--fix'), { status: 'fail', fixed: true })
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
})

t.test('doctor - CL-41 what is not of a store is not touched', async t => {
  const machine = new Machine(t)
  const script = join(machine.store, 'bin', 'run.sh')
  mkdirSync(join(machine.store, 'bin'), { recursive: true })
  writeFileSync(script, '#!/bin/sh\n')
  chmodSync(script, 0o755)
  const modeOf = (path: string): number => statSync(path).mode & 0o777
  for (const name of [undefined, 'concert.txt']) {
    mkdirSync(join(machine.store, 'events'), { recursive: true })
    chmodSync(join(machine.store, 'events'), 0o755)
    if (name !== undefined) writeFileSync(join(machine.store, 'events', name), 'x', { mode: 0o644 })
    t.match(await machine.look(t, 'store'), { status: 'warn', evidence: /there is no store/ })
    t.match(await machine.look(t, 'store-modes', '--fix'), { fixed: false })
    t.equal(modeOf(join(machine.store, 'events')), 0o755, String(name))
  }
  rmSync(join(machine.store, 'events'), { recursive: true })
  machine.fill()
  chmodSync(join(machine.store, 'events'), 0o755)
  t.match(await machine.look(t, 'store-modes', '--fix'), { status: 'fail', fixed: true })
  t.equal(modeOf(script), 0o755, 'nor beside one')
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
    t.match(said, `${directory}: other users can write to it (mode 0777)\n  nothing was changed; `)
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

t.test('doctor - a store that is a link is named by its directory', async t => {
  const machine = new Machine(t).fill()
  const directory = `${machine.store} of old`
  renameSync(machine.store, directory)
  symlinkSync(directory, machine.store)
  const remedy = `KIM does not follow a link here; name the directory itself: --store '${directory}'`
  t.match(await machine.look(t, 'store-modes'), { status: 'fail', evidence: /a symbolic link/, remedy })
  const args = [bin, 'journal', 'checkpoint', '--store']
  const { status, stderr } = spawnSync(process.execPath, [...args, machine.store], { env: machine.env })
  t.equal(status, 77)
  t.match(String(stderr), `it is a symbolic link\n  nothing was changed; ${remedy}\n`)
  t.equal(spawnSync(process.execPath, [...args, directory], { env: machine.env }).status, 0)
})

t.test('doctor - a file of another owner is given back, and never taken away', { skip: !isRoot }, async t => {
  const machine = new Machine(t).fill()
  const [segment = ''] = machine.segments()
  chownSync(segment, 1234, 1234)
  const seen = await machine.look(t, 'store-modes')
  t.match(seen, {
    status: 'fail',
    evidence: /belongs to user 1234/,
    remedy: /if it is theirs, run as user 1234/,
  })
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
    evidence: `${machine.store} is not writable: EROFS`,
    remedy: /read-only/,
  })
  const run = join(machine.store, 'run')
  closed(run, 'EACCES')
  t.match(await machine.look(t, 'store-writable'), {
    status: 'fail',
    evidence: /EACCES$/,
    remedy: /^its owner and mode are right; .*getfacl /,
  })
  chmodSync(run, 0o500)
  const seen = await machine.look(t, 'store-writable')
  t.match(seen, { status: 'fail', evidence: `${run} is not writable: EACCES (mode 0500)` })
  t.equal(spawnSync('sh', ['-c', seen.remedy ?? 'false']).status, 0)
  delete machine.env['NODE_OPTIONS']
  t.match(await machine.look(t, 'store-writable'), { status: 'ok' })
})

t.test('doctor - what stands in the place of the lock or of the socket is named before its mode', async t => {
  const machine = new Machine(t).fill()
  for (const [name, why] of [
    ['lock', /run\/lock: not a regular file/],
    ['control.sock', /run\/control\.sock: not a socket/],
    ['health.json', /run\/health\.json: not a regular file/],
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

t.test('doctor - CL-64 a store of another owner, and one that cannot be made', { skip: !isRoot }, async t => {
  const machine = new Machine(t)
  t.match(await machine.look(t, 'store-writable'), { status: 'unknown', evidence: 'there is no store' })
  mkdirSync(machine.store, { recursive: true, mode: 0o755 })
  chownSync(machine.store, 1234, 1234)
  const back = async (path: string): Promise<void> => {
    const { status, remedy } = await machine.look(t, 'store-writable')
    t.equal(status, 'fail')
    t.match(remedy, `if it is theirs, run as user 1234; if it is yours: sudo chown -R 0 ${path}`)
    t.equal(spawnSync('sh', ['-c', /sudo (chown .*)/.exec(remedy ?? '')?.[1] ?? 'false']).status, 0)
  }
  await back(machine.store)
  machine.fill()
  const events = join(machine.store, 'events')
  spawnSync('chown', ['-R', '1234', events])
  machine.env['NODE_OPTIONS'] = closedDirectory(events, events, 'EACCES').join('=')
  await back(events)
  delete machine.env['NODE_OPTIONS']
  t.match(await machine.look(t, 'store-modes'), { status: 'ok' })
  const above = join(machine.home, 'state')
  rmSync(machine.store, { recursive: true })
  machine.env['NODE_OPTIONS'] = closedDirectory(above, above, 'EACCES').join('=')
  const seen = await machine.look(t, 'store-writable')
  t.match(seen, { status: 'fail', evidence: `${above} is not writable` })
  t.equal(spawnSync('sh', ['-c', /sudo (install .*)/.exec(seen.remedy ?? '')?.[1] ?? 'false']).status, 0)
  t.equal(statSync(machine.store).mode & 0o777, 0o700)
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
  t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: 'sinks: 1' })
  const holder = openJournal({ storeDir: machine.store })
  machine.health({ state: 'running', pid: process.pid, sinks: [] })
  const left = await machine.look(t, 'sinks')
  t.match(left, { status: 'warn', evidence: 'file:/ev: the producer runs without it' })
  t.equal(
    left.remedy,
    `start the producer with its flag, or delete its watermark: rm ${join(ledgers, '1.json')}`,
  )
  holder.close()
  put('1.json', [['river', 1, null, 'the disk is full']])
  t.match(await machine.look(t, 'sinks'), {
    status: 'warn',
    evidence: 'file:/ev of river is held: the disk is full',
    remedy: /retries within 30 s/,
  })
  writeFileSync(join(ledgers, '1.json'), '{')
  const off = await machine.look(t, 'sinks')
  t.match(off, { status: 'fail', evidence: /is off: .*does not hold a valid watermark/ })
  const command = /rm \S+/.exec(off.remedy ?? '')?.[0] ?? 'false'
  t.equal(spawnSync('sh', ['-c', command]).status, 0, command)
  t.match(await machine.look(t, 'sinks'), { status: 'ok', evidence: 'sinks: 0' })
})

t.test(
  'doctor - CL-64 a file of events that cannot be written is named before a producer meets it',
  async t => {
    const machine = new Machine(t)
    const shut = join(machine.home, 'shut')
    mkdirSync(shut)
    const look = (...flags: string[]): ReturnType<Machine['look']> => machine.look(t, 'sinks', ...flags)
    const named = ['--events-file', join(shut, 'deep', 'ev.ndjson')]
    t.match(await look(...named), { status: 'unknown', evidence: 'there is no store' })
    t.match(await look('--events-file', shut), { status: 'fail', evidence: `${shut}: it is a directory` })
    const file = join(shut, 'all.ndjson')
    writeFileSync(file, '')
    t.match(await look('--activity-file', file), { status: 'unknown' })
    const below = join(file, '{persona}.ndjson')
    t.match(await look('--events-file-template', below), {
      status: 'fail',
      evidence: `${file} is not a directory`,
    })
    machine.env['NODE_OPTIONS'] = closedDirectory(shut, shut, 'EACCES').join('=')
    t.match(await look('--events-file', file), { status: 'fail', evidence: /it is not writable: EACCES$/ })
    const template = ['--events-file-template', join(shut, '{persona}.ndjson')]
    for (const flags of [named, template]) {
      t.match(await look(...flags), { status: 'fail', evidence: `: ${shut} is not writable: EACCES` })
    }
    t.notOk(existsSync(join(shut, 'deep')), 'and nothing was made')
  },
)

t.test('doctor - a directory above the store that others can write to', async t => {
  const machine = new Machine(t).fill()
  chmodSync(join(machine.home, 'state'), 0o777)
  const seen = await machine.look(t, 'ancestors')
  t.match(seen, { status: 'warn', evidence: /is writable by other users/ })
  t.equal(spawnSync('sh', ['-c', seen.remedy ?? 'false']).status, 0)
  t.match(await machine.look(t, 'ancestors'), { status: 'ok' })
})

t.test('doctor - a remedy can be typed as it is printed, whatever the store is called', async t => {
  const machine = new Machine(t, "my store's/it").fill()
  const url = ['--url', 'http://127.0.0.1:9', '--allow-loopback']
  const { remedy } = await machine.look(t, 'producer', ...url)
  t.match(
    remedy,
    /^start it: kim-producer run --store '.*my store'\\''s\/it' --url http:\/\/127\.0\.0\.1:9 --allow-loopback, or /,
  )
  const flags = [
    '--dialect',
    'hosted',
    '-p',
    'loom',
    '-p',
    'a\\, b',
    '--personas',
    'x,c\\,d',
    '--max-replay',
    '200',
  ]
  const more = ['--events-file', 'my rot.ndjson', '--no-gc', '--segment-bytes', '64k']
  const all = await machine.look(t, 'producer', ...url, ...flags, ...more)
  const words = `--url http://127.0.0.1:9 --dialect hosted --allow-loopback --persona loom --persona 'a\\, b' --personas x --personas 'c\\,d' --max-replay 200 --events-file '${join(process.cwd(), 'my rot.ndjson')}' --segment-bytes 65536 --no-gc`
  t.ok(all.remedy?.includes(` ${words}, or kim-producer install-service --store `), `CL-64 ${all.remedy}`)
  t.ok(all.remedy?.endsWith(words))
  const above = dirname(machine.store)
  chmodSync(above, 0o777)
  const seen = await machine.look(t, 'ancestors')
  t.equal(spawnSync('sh', ['-c', seen.remedy ?? 'false']).status, 0, String(seen.remedy))
  t.match(await machine.look(t, 'ancestors'), { status: 'ok' })
})

t.test('doctor - a segment that is gone, and one that was changed', async t => {
  const machine = new Machine(t).fill()
  const [, second = ''] = machine.segments()
  const bytes = readFileSync(second)
  unlinkSync(second)
  t.match(await machine.look(t, 'journal'), {
    status: 'fail',
    evidence: /^records are missing: seq_hole × \d+$/,
    remedy: /journal verify --store \S+; .*repair --store \S+ --dry-run/,
  })
  writeFileSync(second, bytes.toString('latin1').replace('"x"', '"y"'), { encoding: 'latin1', mode: 0o600 })
  const changed = await machine.look(t, 'journal')
  t.match(changed, { status: 'fail', evidence: /^damaged: chain_broken × \d+$/ })
  t.match(
    changed.remedy,
    /^see the damaged files: kim-producer journal verify --store \S+\. No repair can undo this\. /,
  )
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
