import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
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
  })
  t.match(health(store), { state: 'running', pid: producer.child.pid, interval_ms: 10_000, store })
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
  'JF-89 A18 A19 one writer - a second producer exits 75; after kill -9 the next one goes on',
  async t => {
    const store = newStore(t)
    const first = await started(t, store)
    const second = await ran(t, 'run', '--store', store, ...NOBODY)
    t.equal(second.code, 75)
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
  t.match((await ran(t, 'poke', '--store', store, '-p', 'nobody')).out, '0 inboxes are due now')
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
    t.match(err, /no producer runs on .*\n {2}start one: kim-producer run\n$/)
  }
})

t.test('status - where there is no store exits 4 and makes none', async t => {
  const store = newStore(t)
  const status = await ran(t, 'status', '--store', store)
  t.equal(status.code, 4)
  t.notOk(existsSync(store))
})
