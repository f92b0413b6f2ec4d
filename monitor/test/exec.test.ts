import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { execEnvironment } from '../dist/exec-env.js'
import { runExec } from '../dist/exec-retry.js'
import { monitorEvent } from '../dist/monitor-event.js'
import { facts, message, record } from './records.js'

const never = new AbortController().signal
const look = { facts, contentChars: 220, platform: 'linux' } as const

t.test('exec environment - exactly the variables of the event, nothing stale, no credential', async t => {
  const parent = {
    PATH: '/bin',
    KIJITOMON_ID: '999',
    KIJITOMON_TOKEN: 't',
    KIM_TOKEN: 't',
    kijito_api_key: 't',
    KIM_STORE: '/s',
    GONE: undefined,
  }
  const event = monitorEvent(
    message(7, { payload: { ...message(7).payload, content: 'a\0b\ud800', from: 'ar gus' } }),
    look,
  )
  if (event === undefined) throw new Error('no event')
  t.same(execEnvironment(event, parent), {
    PATH: '/bin',
    KIM_STORE: '/s',
    KIJITOMON_EVENT: 'new',
    KIJITOMON_SOURCE: 'kijito-inbox',
    KIJITOMON_TS: event.ts,
    KIJITOMON_EVENT_ID: 'river:new:246',
    KIJITOMON_NONCE: event.nonce,
    KIJITOMON_PERSONA: 'river',
    KIJITOMON_ID: '246',
    KIJITOMON_FROM: 'ar gus',
    KIJITOMON_CONTENT: 'ab\ufffd',
    KIJITOMON_CREATED: '2026-06-10T14:03:21Z',
  })
})

t.test('exec environment - numbers, lists and absent members', async t => {
  const of = (
    event: string,
    payload: Record<string, string | number | boolean | string[] | null>,
  ): Record<string, string> => {
    const made = monitorEvent(record(1, { action: 'update', event, item_type: 'alert', payload }), look)
    const env = made === undefined ? {} : execEnvironment(made, {})
    return Object.fromEntries(
      Object.entries(env).filter(([name]) => !/_(EVENT|SOURCE|TS|EVENT_ID|NONCE|PERSONA)$/.test(name)),
    )
  }
  t.same(
    of('alert', {
      reason: 'stranded-mail: x',
      stranded_inboxes: ['a', 'b'],
      dormant_inboxes: ['c'],
      window_floor: 1,
    }),
    {
      KIJITOMON_REASON: 'stranded-mail: x',
      KIJITOMON_STRANDED: 'a,b',
      KIJITOMON_DORMANT: 'c',
    },
  )
  t.same(of('alert', { reason: 'unreachable', consecutive_failures: 3, seconds: 9 }), {
    KIJITOMON_REASON: 'unreachable',
    KIJITOMON_FAILURES: '3',
  })
  t.same(of('alert', { reason: 'id-regressed: x', current_max: 3 }), { KIJITOMON_REASON: 'id-regressed: x' })
  t.same(of('seed_ahead', { seeded: 9, current_max: 5 }), {
    KIJITOMON_SEEDED: '9',
    KIJITOMON_CURRENT_MAX: '5',
  })
  t.same(of('replay_capped', { capped_to: 9, dropped: 5 }), {
    KIJITOMON_CAPPED_TO: '9',
    KIJITOMON_DROPPED: '5',
  })
  t.same(of('armed', { cursor: 4 }), { KIJITOMON_CURSOR: '4' })
  t.same(of('armed', {}), {}, 'null is unset')
})

/** What the variables of an event take, as the system counts them. */
const bytesOf = (env: Readonly<Record<string, string>>): number =>
  Object.entries(env).reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}=${value}`) + 1, 0)

t.test('exec environment - KS-74 fits what a system takes, whatever the event holds', async t => {
  const of = (members: Record<string, string | number>): Record<string, string> => {
    const event = monitorEvent(message(7, { payload: { ...message(7).payload, ...members } }), look)
    return event === undefined ? {} : execEnvironment(event, {})
  }
  const one = of({ from: 'F'.repeat(200_000) })
  t.equal(bytesOf(one), 128_000, 'as much as there is room for')
  t.match(one, { KIJITOMON_EVENT_ID: 'river:new:246', KIJITOMON_ID: '246', KIJITOMON_PERSONA: 'river' })
  t.equal(one['KIJITOMON_CREATED'], '2026-06-10T14:03:21Z', 'the longest gives way')
  const two = of({ from: 'F'.repeat(200_000), created: 'é'.repeat(90_000) })
  t.ok(bytesOf(two) <= 128_000)
  for (const name of ['FROM', 'CREATED']) t.ok((two[`KIJITOMON_${name}`] ?? '').length > 20_000, name)
  t.match(two['KIJITOMON_CREATED'], /^é+$/, 'no character is cut')
})

t.test(
  'exec environment - KS-74 names of a list are cut between two, and a name that is too long is left out',
  async t => {
    const names = Array.from({ length: 300 }, (_, n) => `g${n}-${'n'.repeat(900)}`)
    const payload = { reason: 'stranded-mail: x', stranded_inboxes: names }
    const alert = monitorEvent(
      record(1, { action: 'update', event: 'alert', item_type: 'alert', payload }),
      look,
    )
    const env = alert === undefined ? {} : execEnvironment(alert, {})
    const kept = (env['KIJITOMON_STRANDED'] ?? '').split(',')
    t.ok(kept.length > 100)
    t.same(kept, names.slice(0, kept.length))
    t.equal(env['KIJITOMON_REASON'], 'stranded-mail: x')
    const event = monitorEvent(message(7, { agent: 'x'.repeat(300_000) }), look)
    const foreign = event === undefined ? {} : execEnvironment(event, {})
    t.ok(bytesOf(foreign) <= 128_000)
    t.notOk('KIJITOMON_PERSONA' in foreign, 'half a name is no persona')
    t.notOk('KIJITOMON_EVENT_ID' in foreign)
    t.equal(foreign['KIJITOMON_NONCE'], event?.nonce)
  },
)

t.test('exec - KS-74 what no system takes is refused, and never for what an event says', async t => {
  const env = { PATH: process.env['PATH'] ?? '' }
  const long = 'x'.repeat(3_000_000)
  t.match(await runExec('true', { ...env, X: long }, never), { kind: 'refused', why: /E2BIG|EINVAL/ })
  const told = { ...env, KIJITOMON_EVENT_ID: 'river:new:7', KIJITOMON_CONTENT: long }
  const command = 'test "$KIJITOMON_EVENT_ID$KIJITOMON_CONTENT" = river:new:7'
  t.same(await runExec(command, told, never), { kind: 'acknowledged' }, 'it gets the id of the event')
})

t.test('exec - exit status is the acknowledgement', async t => {
  const env = { PATH: process.env['PATH'] ?? '' }
  t.same(await runExec('true', env, never), { kind: 'acknowledged' })
  t.same(await runExec('exit 3', env, never), { kind: 'refused', why: 'exited with 3' })
  t.match(await runExec('/nonexistent/command', env, never), { kind: 'refused', why: 'exited with 127' })
  t.match(await runExec('kill -9 $$', env, never), { kind: 'refused', why: /SIGKILL/ })
  t.same(await runExec('test "$X" = "a b"', { ...env, X: 'a b' }, never), { kind: 'acknowledged' })
  const ended = new AbortController()
  ended.abort()
  t.same(await runExec('true', env, ended.signal), { kind: 'interrupted' })
})

t.test('exec - a command whose time is up leaves no process behind', async t => {
  const directory = t.testdir()
  const pidFile = join(directory, 'pid')
  // The grandchild ignores the polite request.
  const command = `sh -c 'trap "" TERM; echo $$ > ${pidFile}; while :; do sleep 0.1; done' & wait`
  const outcome = await runExec(command, { PATH: process.env['PATH'] ?? '' }, never, { timeoutMs: 10_000 })
  t.match(outcome, { kind: 'refused', why: 'took longer than 10 s' })
  const pid = Number(readFileSync(pidFile, 'utf8'))
  t.ok(pid > 0)
  t.ok(await isGone(pid), `process ${pid} is gone`)
})

t.test('exec - an end of this process ends the command and says nothing about the event', async t => {
  const abort = new AbortController()
  const running = runExec('sleep 60', { PATH: process.env['PATH'] ?? '' }, abort.signal)
  setTimeout(() => abort.abort('SIGTERM'), 100)
  t.same(await running, { kind: 'interrupted' })
})

t.test('exec - what the command prints is not data of ours', t => {
  const script = `
    import { runExec } from ${JSON.stringify(import.meta.resolve('@kim/monitor'))}
    await runExec('echo said', { PATH: process.env.PATH }, new AbortController().signal)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => {
    out += String(chunk)
  })
  child.stderr.on('data', chunk => {
    err += String(chunk)
  })
  child.on('close', () => {
    t.equal(out, '')
    t.match(err, 'said')
    t.end()
  })
})

/** A killed process may still be listed until it is reaped. */
async function isGone(pid: number): Promise<boolean> {
  for (let i = 0; i < 100; i++) {
    try {
      const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
      if (state.trim().startsWith('Z')) return true
    } catch {
      return true
    }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return false
}

const procOnly = process.platform !== 'linux' && 'needs /proc'

t.test(
  'exec - KS-87 what commands leave running takes no more and more descriptors',
  { skip: procOnly },
  async t => {
    const open = (): number => readdirSync('/proc/self/fd').length
    const before = open()
    for (let n = 0; n < 40; n++) {
      const env = { PATH: process.env['PATH'] ?? '' }
      const outcome = await runExec('sleep 4 & echo', env, never, { onOutput: () => undefined })
      t.same(outcome, { kind: 'acknowledged' })
    }
    t.ok(open() <= before + 2 * 17, `${open()} open, ${before} before`)
  },
)

t.test('exec - a process without descriptors gets an error and continues', { skip: procOnly }, async t => {
  const script = `
    import { openSync } from 'node:fs'
    import { runExec } from '${import.meta.resolve('@kim/monitor')}'
    try { for (;;) openSync('/dev/null', 'r') } catch {}
    console.log(JSON.stringify(await runExec('true', {}, new AbortController().signal, { onOutput() {} })))`
  const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, script]
  const { kind, why } = JSON.parse(execFileSync('sh', words, { encoding: 'utf8' })) as Record<string, string>
  t.equal(kind, 'refused')
  t.match(why, /EMFILE/)
})
