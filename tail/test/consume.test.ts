import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import {
  consumerPath,
  listConsumers,
  lockConsumer,
  readConsumer,
  removeConsumer,
  writeConsumer,
} from '../../observer-sdk/dist/cursors/consumer-cursors.js'

const never = new AbortController().signal
const place = { projectId: 'p', seq: 7, writer: 'w_1-aa', checkpointSeq: 3 }

t.test('consumer file - CL-24 is private, whole, and comes back as it was', async t => {
  const env = { XDG_STATE_HOME: t.testdir() }
  const path = consumerPath(env, 'session')
  t.equal(path, join(env.XDG_STATE_HOME, 'kim/clients/kim-tail/cursors/session.json'))
  t.equal(readConsumer(path), undefined)
  t.same(listConsumers(env), [])
  writeConsumer(path, place)
  t.same(readConsumer(path), place)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(dirname(path)).mode & 0o777, 0o700)
  t.equal(readFileSync(path, 'utf8'), '{"checkpoint_seq":3,"project_id":"p","seq":7,"writer":"w_1-aa"}\n')
  writeConsumer(path, { ...place, seq: 8, writer: null })
  t.same(readConsumer(path), { ...place, seq: 8, writer: null })
  writeFileSync(join(dirname(path), '.session.json.1.tmp'), '')
  mkdirSync(`${path}.lock`)
  t.same(listConsumers(env), ['session'], 'locks and drafts are no consumers')
  t.ok(removeConsumer(path))
  t.notOk(removeConsumer(path))
})

t.test('consumer file - the draft of a process that died is no obstacle, and none is left', async t => {
  const env = { XDG_STATE_HOME: t.testdir() }
  const path = consumerPath(env, 'session')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}.tmp`, 'half')
  writeConsumer(path, place)
  t.same(readConsumer(path), place)
  t.same(readdirSync(dirname(path)), [basename(path)])
})

t.test('consumer file - where no directory can be made that is said at once', async t => {
  const root = t.testdir({ file: '' })
  const nowhere = [join(root, 'file', 'x', 'y.json')]
  // A place where Node's own way to make directories never comes to an end.
  if (process.platform === 'linux') nowhere.push('/proc/nowhere/x/y.json')
  for (const path of nowhere) t.throws(() => writeConsumer(path, place), { code: 'store_failed' }, path)
})

t.test('consumer file - what is no cursor is refused, never taken for none', async t => {
  const path = join(t.testdir(), 'c.json')
  for (const text of [
    '',
    '{',
    '[]',
    '{}',
    '{"project_id":"p","seq":-1}',
    '{"project_id":"","seq":1}',
    '{"project_id":"p","seq":1,"writer":5}',
  ]) {
    writeFileSync(path, text)
    t.throws(
      () => readConsumer(path),
      {
        code: 'cursor_invalid',
        exitCode: 2,
        hint: 'the file was left as it is; to miss nothing: kim-tail cursors set c --seq N, with the same --store or --events (N: the last record that was handled); or kim-tail cursors rm c: the next run then begins with new mail',
      },
      text,
    )
  }
})

t.test('consumer name - is a plain file name', async t => {
  for (const name of ['', '.', '..', '../x', 'a/b', 'a b', '-x', 'x'.repeat(101), 'é']) {
    t.throws(() => consumerPath({}, name), { code: 'usage' }, name)
  }
})

t.test('consumer lock - one holder, free again when let go', async t => {
  const path = join(t.testdir(), 'c.json')
  const options = { onWait: () => {}, onLost: () => {}, signal: never }
  const first = await lockConsumer(path, options)
  t.ok(existsSync(`${path}.lock`))
  let waits = 0
  const abort = new AbortController()
  const waiting = lockConsumer(path, { ...options, onWait: () => waits++, signal: abort.signal })
  while (waits === 0) await new Promise(resolve => setTimeout(resolve, 10))
  // Long enough for more tries.
  await new Promise(resolve => setTimeout(resolve, 450))
  await first.release()
  const second = await waiting
  t.equal(waits, 1, 'said once')
  await t.rejects(
    lockConsumer(path, { ...options, onWait: () => abort.abort('SIGTERM'), signal: abort.signal }),
    { name: 'AbortError' },
    'a wait can be ended',
  )
  await second.release()
  await second.release()
})

t.test('consumer lock - CL-25 a live holder is not waited for beyond its stale time', async t => {
  const path = join(t.testdir(), 'c.json')
  const held = await lockConsumer(path, { onWait: () => {}, onLost: () => {}, signal: never })
  await t.rejects(lockConsumer(path, { onWait: () => {}, onLost: () => {}, signal: never }), {
    code: 'consumer_held',
    exitCode: 75,
    message: /consumer "c"/,
  })
  await held.release()
})

t.test('consumer lock - CL-25 a dead holder is succeeded', async t => {
  const path = join(t.testdir(), 'c.json')
  mkdirSync(`${path}.lock`)
  const past = new Date(Date.now() - 60_000)
  utimesSync(`${path}.lock`, past, past)
  const lock = await lockConsumer(path, { onWait: () => t.fail('no wait'), onLost: () => {}, signal: never })
  await lock.release()
  // A holder that finds out how fine file times are dates its first touch up to a second ahead.
  mkdirSync(`${path}.lock`)
  const ahead = new Date(Math.ceil(Date.now() / 1000) * 1000 + 5)
  utimesSync(`${path}.lock`, ahead, ahead)
  const late = await lockConsumer(path, { onWait: () => {}, onLost: () => {}, signal: never })
  await late.release()
})

t.test(
  'consumer file - CL-6 one that cannot be written is an error of ours, and leaves no draft',
  async t => {
    const directory = t.testdir({ 'c.json': { inside: '' }, file: '' })
    t.throws(() => writeConsumer(join(directory, 'c.json'), place), { code: 'store_failed', exitCode: 1 })
    t.same(readdirSync(directory), ['c.json', 'file'])
    t.throws(() => writeConsumer(join(directory, 'file/c.json'), place), { code: 'store_failed' })
  },
)
