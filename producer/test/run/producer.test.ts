import { existsSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ControlVerbs,
  type CoreStatus,
  type Host,
  type Journal,
  Producer,
  type ProducerParts,
  type ProducerStatus,
  type RunEntry,
  StatusFile,
  withoutEchoes,
} from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { HandLoop } from '../kit/hand-loop.js'
import { HeldSource } from '../kit/held-source.js'
import { ScriptedCore } from '../kit/scripted-core.js'
import { message, TestStore } from '../kit/store.js'

const host: Host = { pid: 4711, uid: process.getuid?.(), startKey: 'boot:1', node: 'v20', platform: 'test' }

class Bench {
  readonly store: TestStore
  readonly loop: HandLoop
  readonly core: ScriptedCore = new ScriptedCore()
  readonly source: HeldSource = new HeldSource()
  readonly logged: RunEntry[] = []
  readonly producer: Producer

  readonly journal: Journal

  constructor(t: Test, openControl?: ProducerParts['openControl'], more: Partial<ProducerParts> = {}) {
    this.store = new TestStore(t)
    this.loop = new HandLoop(this.store.clock)
    const journal = this.store.open()
    this.journal = journal
    this.producer = new Producer({
      storeDir: this.store.dir,
      version: '9.8.7',
      journal,
      source: this.source,
      core: this.core,
      log: entry => void this.logged.push(entry),
      clock: this.store.clock,
      turn: this.loop.turn,
      timers: this.loop.timers,
      host,
      openControl,
      ...more,
    })
  }

  health(): ProducerStatus {
    return JSON.parse(readFileSync(this.store.paths.health, 'utf8')) as ProducerStatus
  }

  metrics(): string {
    return readFileSync(this.store.paths.metrics, 'utf8')
  }
}

t.test('CL-16 producer - replaces its files every ten seconds, and wakes for nothing else', async t => {
  const bench = new Bench(t)
  const running = bench.producer.run()
  await bench.loop.run()
  t.match(bench.health(), {
    schema_version: 1,
    state: 'running',
    version: '9.8.7',
    pid: 4711,
    started: '2026-06-10T14:00:00.000Z',
    updated: '2026-06-10T14:00:00.000Z',
    interval_ms: 10_000,
    store: bench.store.dir,
    source: 'http://localhost:7474',
    disk: 'ok',
    personas: [],
  })
  t.same(bench.loop.waits, [10_000])
  await bench.loop.advance(25_000)
  t.equal(bench.health().updated, '2026-06-10T14:00:20.000Z')
  t.equal(statSync(bench.store.paths.health).mode & 0o777, 0o600)
  bench.producer.stop('SIGTERM')
  t.same(await running, { kind: 'stopped', reason: 'SIGTERM' })
  t.match(bench.health(), { state: 'stopped', reason: 'SIGTERM', updated: '2026-06-10T14:00:25.000Z' })
  t.same(bench.loop.waits, [])
  t.ok(bench.source.isClosed)
  t.same(
    bench.logged.map(({ code }) => code),
    ['started'],
  )
})

t.test('producer - tells of each inbox what is known, in times for people', async t => {
  const bench = new Bench(t)
  const known: CoreStatus = {
    ...bench.core.status(),
    counts: 'live',
    personas: [
      {
        persona: 'river "the\nfirst"\\',
        state: 'down',
        armed: true,
        watermark: 246,
        consecutive_failures: 3,
        last_poll: bench.store.clock.mono - 500,
        last_healthy: undefined,
        unread: 2,
        unread_urgent: undefined,
        pinned: false,
        reason: 'http 502',
      },
    ],
  }
  bench.core.status = () => known
  bench.core.commits = [[message(1), message(2)], [message(3)]]
  const running = bench.producer.run()
  await bench.loop.run()
  await bench.loop.advance(10_000)
  t.same(bench.health().personas, [
    {
      persona: 'river "the\nfirst"\\',
      state: 'down',
      armed: true,
      watermark: 246,
      pinned: false,
      consecutive_failures: 3,
      last_poll: '2026-06-10T13:59:59.500Z',
      unread: 2,
      reason: 'http 502',
    },
  ])
  const metrics = bench.metrics()
  for (const line of [
    'kim_build_info{version="9.8.7",project_id="',
    'kim_journal_commits_total 3\n',
    'kim_journal_records_total{type="message"} 3\n',
    'kim_journal_records_total{type="journal"} 1\n',
    'kim_requests_total{kind="page"} 0\n',
    'kim_persona_up{persona="river \\"the\\nfirst\\"\\\\"} 0\n',
    'kim_unread{persona="river \\"the\\nfirst\\"\\\\"} 2\n',
  ]) {
    t.ok(metrics.includes(line), line)
  }
  for (const line of metrics.trimEnd().split('\n')) {
    t.match(line, /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="(\\.|[^"\\])*"(,\w+="(\\.|[^"\\])*")*\})? -?[\d.e+]+)$/)
  }
  bench.producer.stop('SIGTERM')
  await running
})

t.test('producer - a full disk is logged, and ends when there is space', async t => {
  const bench = new Bench(t)
  const running = bench.producer.run()
  await bench.loop.run()
  bench.store.fs.break('writeSync', 'seg-', 'ENOSPC')
  bench.core.commits = [[message(1)]]
  await bench.loop.advance(20_000)
  t.equal(bench.health().disk, 'full')
  t.ok(bench.metrics().includes('kim_journal_disk_full 1\n'))
  bench.store.fs.heal()
  await bench.loop.advance(40_000)
  t.equal(bench.health().disk, 'ok')
  bench.producer.stop('SIGTERM')
  await running
  t.same(
    bench.logged.map(({ code }) => code),
    ['started', 'disk_full', 'disk_free'],
  )
})

/** What the system says of a disk that failed. */
const brokenDisk = (call: string): Error =>
  Object.assign(new Error(`EIO: i/o error, ${call}`), { code: 'EIO', syscall: call })

t.test('CL-14 producer - takes every step of an end, and the first fault is the reason', async t => {
  const steps: string[] = []
  const fail = (step: string): never => {
    steps.push(step)
    throw brokenDisk(step)
  }
  const bench = new Bench(t, async () => ({ close: () => fail('control') }), {
    supervisor: {
      ready: () => undefined,
      alive: () => undefined,
      stopping: () => void steps.push('supervisor'),
    },
    onEnd: () => void steps.push('end'),
    finish: async () => fail('sinks'),
  })
  const running = bench.producer.run()
  await bench.loop.run()
  bench.source.close = () => fail('source')
  bench.producer.stop('SIGTERM')
  t.match(await running, {
    kind: 'failed',
    error: { code: 'store_failed', message: 'cannot close the control socket: EIO' },
  })
  t.same(steps, ['end', 'supervisor', 'control', 'sinks', 'source'])
  t.match(bench.health(), { state: 'stopped', reason: 'cannot close the control socket: EIO' })
  t.match(
    bench.logged.filter(({ code }) => code === 'shutdown_step_failed'),
    [{ message: 'cannot close the sinks: EIO' }, { message: 'cannot close the connections: EIO' }],
  )
  t.ok(bench.store.open().head.seq > 0, 'the store can be opened again at once')
})

t.test('CL-14 producer - the fault that was the end stays the reason', async t => {
  const bench = new Bench(t, async () => ({
    close: () => {
      throw brokenDisk('unlink')
    },
  }))
  const running = bench.producer.run()
  await bench.loop.run()
  bench.store.fs.break('fdatasyncSync', 'seg-', 'EIO')
  bench.core.commits = [[message(1)]]
  await bench.loop.advance(20_000)
  t.match(await running, { kind: 'failed', error: { message: /cannot make .*seg-.* durable: EIO/ } })
  t.match(bench.health(), { state: 'stopped', reason: /seg-.* durable: EIO/ })
})

t.test(
  'CL-14 producer - a journal that failed for somebody else says why, not that it is closed',
  async t => {
    const bench = new Bench(t)
    const running = bench.producer.run()
    await bench.loop.run()
    bench.store.fs.break('fdatasyncSync', 'seg-', 'EIO')
    t.throws(() => bench.journal.append([message(1)]), { code: 'store_failed' })
    bench.producer.stop('SIGTERM')
    t.match(await running, { kind: 'failed', error: { message: /seg-.* durable: EIO/ } })
  },
)

t.test('KS-84 producer - SIGHUP reads the token again, and asks at once where it is another one', async t => {
  const bench = new Bench(t)
  const running = bench.producer.run()
  await bench.loop.run()
  bench.producer.reload()
  t.same(bench.core.poked, [])
  bench.source.tokenChanged = undefined
  bench.producer.reload()
  t.same(bench.core.poked, [])
  bench.source.tokenChanged = true
  bench.producer.reload()
  t.same(bench.core.poked, [undefined])
  const read = bench.logged.filter(({ code }) => code === 'token_read')
  t.equal(read.length, 2, 'of one that was refused, why is all that is said')
  bench.producer.stop('SIGTERM')
  await running
})

t.test('CP-6 producer - what the socket asks for; care of the journal waits for space', async t => {
  let verbs: ControlVerbs | undefined
  let isClosed = false
  const bench = new Bench(t, async given => {
    verbs = given
    return {
      close: () => {
        isClosed = true
      },
    }
  })
  const running = bench.producer.run()
  await bench.loop.run()
  t.equal(verbs?.poke('river'), 1)
  t.same(bench.core.poked, ['river'])
  t.match(verbs?.status(), { state: 'running', pid: 4711 })
  t.equal(verbs?.headSeq(), 2)
  // A write that stands in part is for the core to hear of: a checkpoint must not settle it silently.
  bench.store.fs.break('writeSync', 'seg-', 400)
  bench.core.commits = [[message(1), message(2)]]
  bench.producer.poke()
  await bench.loop.run()
  bench.store.fs.heal()
  await t.rejects(async () => verbs?.checkpoint(), { code: 'store_full' })
  await t.rejects(async () => verbs?.gc(false), { code: 'store_full' })
  await bench.loop.advance(2000)
  t.same(bench.core.outcomes, ['full', 'moved'])
  const written = verbs?.checkpoint()
  await bench.loop.run()
  t.match(await written, { file: /^ckpt-\d{8}\.json$/ })
  verbs?.shutdown()
  t.same(await running, { kind: 'stopped', reason: 'shutdown' })
  t.ok(isClosed)
  await bench.store.verified(t)
})

t.test('producer - goes on without a socket, says so once, and takes one as soon as it can', async t => {
  let tries = 0
  const bench = new Bench(t, async () => {
    if (++tries < 4) throw new Error('ENOSPC')
    return { close: () => undefined }
  })
  const running = bench.producer.run()
  await bench.loop.run()
  await bench.loop.advance(60_000)
  t.equal(tries, 4)
  t.same(
    bench.logged.map(({ code }) => code),
    ['control_missing', 'started', 'control_open'],
  )
  bench.producer.stop('SIGTERM')
  await running
})

t.test('producer - a journal that failed under other hands ends it', async t => {
  let verbs: ControlVerbs | undefined
  const bench = new Bench(t, async given => {
    verbs = given
    return { close: () => undefined }
  })
  const running = bench.producer.run()
  await bench.loop.run()
  bench.store.fs.break('fdatasyncSync', 'seg-', 'EIO')
  await t.rejects(async () => verbs?.checkpoint(), { code: 'store_failed' })
  await bench.loop.run()
  t.match(await running, { kind: 'failed', error: { code: 'store_failed' } })
})

t.test('log - a full disk is said once, not by everything that meets it', async t => {
  const said: string[] = []
  const log = withoutEchoes(({ code }) => void said.push(code))
  for (const code of [
    'meta_not_written',
    'meta_not_written',
    'disk_full',
    'meta_not_written',
    'disk_free',
    'x',
    'x',
  ]) {
    log({ level: 'warn', code, message: '' })
  }
  log({ level: 'warn', code: 'meta_not_written', message: '' })
  t.same(said, ['meta_not_written', 'disk_full', 'disk_free', 'x', 'x', 'meta_not_written'])
})

t.test('status file - is never what ends a service', async t => {
  const dir = t.testdir({ run: {} })
  const path = join(dir, 'run', 'health.json')
  const file = new StatusFile(path, process.getuid?.())
  file.replace('{}\n')
  utimesSync(path, 1, 1)
  file.replace('{"a":1}\n')
  t.equal(readFileSync(path, 'utf8'), '{"a":1}\n')
  t.ok(statSync(path).mtimeMs > 1000)
  rmSync(join(dir, 'run'), { recursive: true })
  t.doesNotThrow(() => file.replace('{}\n'))
  t.notOk(existsSync(path))
})
