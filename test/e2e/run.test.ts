import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { storePaths } from '@kim/manifest'
import t, { type Test } from 'tap'
import { serve } from './loopback-server.js'
import { newStore, notesOf, ProducerProcess } from './producer-process.js'

// Nobody listens there: what is shown here holds whatever a server does.
const NOBODY = ['--url', 'http://127.0.0.1:1', '--dialect', 'local', '--allow-loopback', '--persona', 'argus']

function health(store: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(store, 'run', 'health.json'), 'utf8')) as Record<string, unknown>
}

async function started(t: Test, store: string): Promise<ProducerProcess> {
  const producer = new ProducerProcess(t, ['run', '--store', store, ...NOBODY])
  await producer.logged('started')
  return producer
}

async function ran(t: Test, ...args: string[]): Promise<ProducerProcess & { code: unknown }> {
  const producer = new ProducerProcess(t, args)
  return Object.assign(producer, { code: await producer.ended })
}

t.test('CL-12 A8 A10 usage - what can never work is refused before a store is made', async t => {
  const store = newStore(t)
  const wrong = [
    ['--alert-after', '0'],
    ['--resync-every', '0'],
    ['--rediscover-every', '0'],
    ['--poll-seconds', '0'],
    ['--wait', '-1'],
    ['--max-replay', '-1'],
    ['--seed-at', '5', '--personas', 'loom'],
    ['--seed-at', '5', '--persona', 'loom'],
    ['--all-personas'],
    ['--poll-seconds', 'soon'],
    ['--bogus'],
  ]
  const runs = await Promise.all(wrong.map(flags => ran(t, 'run', '--store', store, ...NOBODY, ...flags)))
  for (const [index, { code, err, out }] of runs.entries()) {
    const flags = wrong[index]?.join(' ') ?? ''
    t.equal(code, 2, flags)
    t.match(err, /^kim-producer: .+\n {2}.+\n$/, flags)
    t.equal(out, '')
  }
  t.notOk(existsSync(store))
})

t.test('CL-74 flags - E7: those of the older monitor are refused with what to type', async t => {
  const store = newStore(t)
  const given: readonly (readonly [flags: readonly string[], said: RegExp])[] = [
    [['--state-file', 'F'], /unknown flag --state-file\n {2}.*kim-producer import --state-file F/],
    [['--self-test'], /unknown flag --self-test\n {2}.*kim-producer self-test/],
    [['--check-activity', 'argus'], /unknown flag --check-activity\n {2}.*kim-tail activity NAME/],
    [['--since-id', '5'], /unknown flag --since-id\n {2}.*kim-tail activity NAME --since-id ID/],
    [['--waits', '2'], /unknown flag --waits.*\n {2}leave it out: kim-tail activity/],
    [['--max-bytes', '-1'], /-1.*\n {2}.*--max-bytes 0/],
    [['--seed-at=-3', '-p', 'argus'], /-3\n {2}.*--seed-at 0/],
    [['--poll-sec', '5'], /unknown flag --poll-sec; did you mean --poll-seconds\?/],
    [['--wait', '5', '--wait', '6'], /--wait was given more than once\n {2}leave out all but one/],
  ]
  const runs = await Promise.all(given.map(([flags]) => ran(t, 'run', '--store', store, ...flags)))
  for (const [at, { code, err }] of runs.entries()) {
    t.equal(code, 2, err)
    t.match(err, given[at]?.[1])
  }
  t.notOk(existsSync(store))
})

t.test('CL-13 CL-16 start - one line of log says what runs; stdout stays empty', async t => {
  const store = newStore(t)
  const producer = await started(t, store)
  const [line] = producer.log
  t.match(line, {
    level: 'info',
    code: 'started',
    store,
    source: 'http://127.0.0.1:1',
    pid: producer.child.pid,
    msg: /^kim .* from http:\/\/127\.0\.0\.1:1; it watches argus$/,
  })
  const { started: since } = health(store)
  t.match(health(store), { state: 'running', pid: producer.child.pid, interval_ms: 10_000, store })
  const asked = await ran(t, 'status', '--json', '--store', store)
  t.equal((JSON.parse(asked.out) as { started: unknown }).started, since, 'one start in every report')
  producer.kill('SIGTERM')
  t.equal(await producer.ended, 0, producer.err)
  t.equal(producer.out, '')
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`CL-14 A20 ${signal} - is a clean stop that the journal and the health file tell of`, async t => {
    const store = newStore(t)
    const producer = await started(t, store)
    producer.kill(signal)
    t.equal(await producer.ended, 0, producer.err)
    t.same(notesOf(store).at(-1), 'producer_stopped')
    t.match(health(store), { state: 'stopped', reason: signal })
    const status = await ran(t, 'status', '--store', store, '--json')
    t.match(JSON.parse(status.out), { state: 'stopped', store })
  })
}

t.test('CL-14 SIGTERM - in the first moment of all is a clean end too', async t => {
  const first = `const on = process.on
    process.on = function (name, ...rest) {
      if (name === 'SIGUSR1') queueMicrotask(() => process.emit('SIGTERM', 'SIGTERM'))
      return on.call(this, name, ...rest)
    }`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(first)}` }
  const store = newStore(t)
  const producer = new ProducerProcess(t, ['run', '--store', store, ...NOBODY], env)
  t.equal(await producer.ended, 0, producer.err)
  t.notOk(existsSync(store))
})

t.test(
  'JF-1 JF-89 JF-90 A18 A19 one writer - a second producer exits 75; after kill -9 the next one goes on',
  async t => {
    const store = newStore(t)
    const first = await started(t, store)
    const socketOf = (): number => statSync(storePaths(store).controlSocket).ino
    const socket = socketOf()
    const second = await ran(t, 'run', '--store', store, ...NOBODY)
    t.equal(second.code, 75)
    t.equal(socketOf(), socket, 'its control socket is left alone')
    t.match(second.err, new RegExp(`process ${first.child.pid}, which started \\d{4}-.*${store}`))
    first.kill('SIGKILL')
    await first.ended
    const gone = await ran(t, 'status', '--store', store, '--json')
    t.match(JSON.parse(gone.out), { state: 'gone', pid: first.child.pid })
    const third = await started(t, store)
    const running = await ran(t, 'status', '--store', store)
    t.match(running.out, new RegExp(`^producer {2}running, pid ${third.child.pid}, since `))
    third.kill('SIGTERM')
    t.equal(await third.ended, 0)
    t.same(
      notesOf(store).filter(kind => kind !== 'registry_genesis'),
      ['genesis', 'producer_started', 'producer_started', 'producer_stopped'],
    )
    const verdict = await ran(t, 'journal', 'verify', '--store', store)
    t.equal(verdict.code, 0, verdict.out)
  },
)

t.test('CL-15 SIGUSR1 - is "poll now" from the first statement on, SIGHUP reads the token again', async t => {
  const store = newStore(t)
  const producer = await started(t, store)
  producer.kill('SIGUSR1')
  producer.kill('SIGHUP')
  await producer.logged('token_read')
  producer.kill('SIGTERM')
  t.equal(await producer.ended, 0)
  t.notMatch(producer.err, /[Dd]ebugger/)
})

t.test('CP-9 poke, status, shutdown - ask the producer that runs, and say where none does', async t => {
  const store = newStore(t)
  const producer = await started(t, store)
  const poked = await ran(t, 'poke', '--store', store, '--json')
  t.same([poked.code, poked.out], [0, '{"due":1}\n'], poked.err)
  const mistyped = await ran(t, 'poke', '--store', store, '-p', 'arguz')
  t.equal(mistyped.code, 4)
  t.match(mistyped.err, /no inbox "arguz" is watched; did you mean argus\?\n {2}watched: argus\n$/)
  const two = await ran(t, 'poke', '--store', store, '-p', 'argus,arguz')
  t.match(two, { code: 4, err: /no inbox "arguz" is watched/ }, 'D6 a comma separates two names')
  const seeded = await ran(t, 'run', '--store', newStore(t), '-p', 'argus,loom', '--seed-at', '5')
  t.match(seeded, { code: 2, err: /--seed-at needs exactly one --persona/ }, 'D6 in run too')
  const status = await ran(t, 'status', '--store', store, '--json')
  t.match(JSON.parse(status.out), {
    state: 'running',
    pid: producer.child.pid,
    personas: [{ persona: 'argus', state: /up|down/, armed: false }],
  })
  const checkpoint = await ran(t, 'journal', 'checkpoint', '--store', store, '--json')
  t.match(JSON.parse(checkpoint.out), { dry_run: false, previous_checkpoint_seq: 0, checkpoint_seq: Number })
  const gc = await ran(t, 'journal', 'gc', '--store', store, '--json')
  t.match(JSON.parse(gc.out), { dry_run: false, segments: [], checkpoints: [] })
  const shutdown = await ran(t, 'shutdown', '--store', store)
  t.same([shutdown.code, shutdown.out], [0, `process ${producer.child.pid} has stopped\n`], shutdown.err)
  t.equal(await producer.ended, 0, producer.err)
  t.match(health(store), { state: 'stopped', reason: 'shutdown' })
  for (const command of ['poke', 'shutdown']) {
    const { code, err } = await ran(t, command, '--store', store)
    t.equal(code, 1)
    t.match(
      err,
      command === 'poke'
        ? /no producer runs on the store .*\n {2}start one with the flags of this store: kim-producer run --store \S+\n$/
        : /no producer runs on the store .*\n {2}nothing was stopped; see: kim-producer status --store \S+\n$/,
    )
  }
})

t.test('shutdown, checkpoint - a producer without its socket is named with the way to stop it', async t => {
  const store = newStore(t)
  const producer = await started(t, store)
  rmSync(join(store, 'run', 'control.sock'))
  const pid = String(producer.child.pid)
  for (const command of ['poke', 'shutdown']) {
    const { code, err } = await ran(t, command, '--store', store)
    t.equal(code, 1, command)
    t.match(
      err,
      new RegExp(`process ${pid} holds the store .* has no control socket.*\\n.*to stop it: kill ${pid}\\n$`),
    )
  }
  const checkpoint = await ran(t, 'journal', 'checkpoint', '--store', store)
  t.equal(checkpoint.code, 75)
  t.match(checkpoint.err, /only one process at a time can write a store/)
  producer.kill('SIGTERM')
  t.equal(await producer.ended, 0, producer.err)
})

t.test('status - where there is no store exits 4 and makes none', async t => {
  const store = newStore(t)
  const status = await ran(t, 'status', '--store', store)
  t.equal(status.code, 4)
  t.match(status.err, /create it with: kim-producer run/)
  t.notOk(existsSync(store))
})

t.test('CL-12 refusals - whose store it is comes before everything about the new address', async t => {
  const store = newStore(t)
  const producer = await started(t, store)
  producer.kill('SIGTERM')
  await producer.ended
  const others = [
    ['--url', 'http://10.1.2.3:4'],
    ['--url', 'http://127.0.0.1:2'],
    ['--url', 'https://api.kijito.ai'],
    ['--url', 'https://api.kijito.ai', '--token-file', '/nonexistent'],
  ]
  for (const [flag = '', url = '', ...more] of others) {
    const { code, err } = await ran(t, 'run', '--store', store, flag, url, ...more)
    t.equal(code, 2, url)
    const canonical = url.replace('127.0.0.1', 'localhost')
    t.match(err, `the store ${store} belongs to http://localhost:1, not to ${canonical}\n`, url)
    t.match(err, /\n {2}nothing was appended; .*--url http:\/\/localhost:1 .*--store DIR; .*: mv .*\n$/)
  }
  t.match((await ran(t, 'run', '--store', store, '--url', 'nonsense')).err, /is not a URL/)
})

t.test(
  'JF-10 another source - a first start with a mistyped URL is put aside with the command of the hint',
  async t => {
    const store = join(newStore(t), "river's")
    const local = ['--store', store, '--dialect', 'local', '--allow-loopback']
    const first = new ProducerProcess(t, ['run', ...local, '--url', 'http://127.0.0.1:1'])
    await first.logged('started')
    first.kill('SIGTERM')
    await first.ended
    const { err } = await ran(t, 'run', ...local, '--url', 'http://127.0.0.1:2')
    execFileSync('sh', ['-c', /: (mv .*)\n$/.exec(err)?.[1] ?? 'false'])
    t.ok(existsSync(join(`${store}.old`, 'events')))
    const next = new ProducerProcess(t, ['run', ...local, '--url', 'http://127.0.0.1:2'])
    await next.logged('started')
    next.kill('SIGTERM')
    t.equal(await next.ended, 0)
  },
)

t.test('KS-2 KS-81 refusals - one says all that an address needs', async t => {
  const { code, err } = await ran(t, 'run', '--store', newStore(t), '--url', 'http://127.0.0.1:2')
  t.equal(code, 2)
  t.match(err, /--dialect is required.*\n.*--dialect local.*--allow-loopback/)
})

t.test('KS-51 401 - says which server does not take the token of which place, and not the token', async t => {
  const flags = await serve(t, () => ({ status: 401, body: {} }))
  const url = flags[1] ?? ''
  const home = dirname(newStore(t))
  const file = join(home, 'token')
  writeFileSync(file, 'very-secret\n', { mode: 0o600 })
  const refused = async (more: readonly string[], env: Record<string, string> = {}): Promise<string> => {
    const producer = new ProducerProcess(t, ['run', '--store', newStore(t), ...flags, ...more], env)
    t.equal(await producer.ended, 2)
    t.notMatch(producer.err, 'very-secret')
    return producer.err
  }
  for (const selection of [[], ['--persona', 'river']]) {
    const byFile = await refused([...selection, '--token-file', file])
    t.notMatch(byFile, /directory_unavailable|retries by itself/, 'nothing about going on')
    t.match(
      byFile,
      `kim-producer: ${url} answers 401: the server does not accept the token of the file ${file}\n  write `,
    )
    const byVariable = await refused(selection, { KIM_TOKEN: 'very-secret' })
    t.match(byVariable, /does not accept the token of \$KIM_TOKEN\n {2}set \$KIM_TOKEN /)
    t.match(
      await refused(selection, { KIM_TOKEN: 'very-secret two' }),
      /\$KIM_TOKEN must be .*\n {2}correct \$KIM_TOKEN, or unset it\n$/,
    )
    t.match(await refused(selection), /answers 401: no token was sent\n {2}.*--token-file.*KIM_TOKEN\n$/)
  }
})

t.test('KS-51 no server - the error says what happened, what was kept and what to do', async t => {
  const nobody = ['--url', 'http://127.0.0.1:1', '--dialect', 'local', '--allow-loopback']
  const producer = new ProducerProcess(t, ['run', '--store', newStore(t), ...nobody])
  await producer.logged('directory_unavailable')
  producer.kill('SIGTERM')
  t.equal(await producer.ended, 0)
  t.match(
    producer.log.find(({ code }) => code === 'directory_unavailable'),
    {
      msg: /connection refused.*no inbox is watched until then; the producer retries by itself/,
      hint: /^start Kijito at http:\/\/127\.0\.0\.1:1, .*--url/,
    },
  )
  const one = new ProducerProcess(t, ['run', '--store', newStore(t), ...NOBODY, '--alert-after', '1'])
  await one.logged('alert')
  t.match(
    one.log.find(({ code }) => code === 'alert'),
    { persona: 'argus', msg: /connection refused/, hint: /--url/ },
  )
})

t.test('KS-92 a mistyped persona - is said once in the log, and watched all the same', async t => {
  const flags = await serve(t, path => {
    const rows = path.startsWith('/api/personas') ? [{ persona: 'river' }] : []
    return { status: 200, body: { result: rows } }
  })
  const producer = new ProducerProcess(t, [
    'run',
    '--store',
    newStore(t),
    ...flags,
    '-p',
    'rivr',
    '-p',
    'river',
  ])
  await producer.logged('persona_unlisted')
  producer.kill('SIGTERM')
  t.equal(await producer.ended, 0, producer.err)
  const lines = producer.log.filter(({ code }) => code === 'persona_unlisted')
  t.match(lines, [{ level: 'warn', persona: 'rivr', msg: /did you mean river\?$/ }])
  t.equal(lines.length, 1)
})

t.test('KS-93 plain http - to another machine is said where a token goes with it', async t => {
  const home = dirname(newStore(t))
  const file = join(home, 'token')
  writeFileSync(file, 'very-secret\n', { mode: 0o600 })
  // What would be installed is judged as run judges it, and sends nothing to an address that is nobody's.
  const plain = async (...flags: string[]): Promise<string> => {
    const more = ['--dialect', 'local', '--allow-private', '--allow-loopback', '--store', join(home, 'store')]
    const { code, err } = await ran(t, 'install-service', '--print', '--target', 'launchd', ...more, ...flags)
    t.equal(code, 0, err)
    t.notMatch(err, 'very-secret')
    return err
  }
  const said = `http://10.1.2.3:4 uses plain http: others on the network can read the token of the file ${file}`
  t.match(await plain('--url', 'http://10.1.2.3:4', '--token-file', file), said)
  t.notMatch(await plain('--url', 'http://10.1.2.3:4'), 'plain http', 'no token goes there')
  for (const url of ['http://127.0.0.1:4', 'http://[::1]:4', 'http://localhost:7474', 'https://10.1.2.3:4']) {
    t.notMatch(await plain('--url', url, '--token-file', file), 'plain http', url)
  }
})
