import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isProcessAlive } from '@kim/cli-kit'
import t from 'tap'
import { BIN, type Ended, environment, Following, line, tail, write } from './kim-tail-process.js'

const lines = (from: number, to: number, more = {}): string =>
  Array.from({ length: to - from + 1 }, (_, i) => line(from + i, more)).join('')

/** Runs the command with its stdout in a file that cannot grow beyond a few KiB, as on a disk that becomes full. */
function intoFull(root: string, out: string, args: readonly string[]): Pick<Ended, 'code' | 'stderr'> {
  const shell = spawnSync(
    'sh',
    ['-c', `ulimit -f 16 && exec "$0" "$@" > '${out}'`, process.execPath, BIN, ...args],
    {
      encoding: 'utf8',
      env: environment(root),
    },
  )
  return { code: shell.status, stderr: shell.stderr }
}

t.test(
  'kim-tail - CL-63 a file that takes part of a write is full, and what it did not take is not committed',
  { skip: process.platform === 'win32' },
  async t => {
    const root = t.testdir()
    const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 150) })
    const out = join(root, 'out')
    const whole = (): string[] => readFileSync(out, 'utf8').split('\n').slice(0, -1)

    const once = intoFull(root, out, ['--events', events, '-n', 'all'])
    t.equal(once.code, 1, 'one write, of which the beginning was taken')
    t.match(once.stderr, 'the output is incomplete')
    t.ok(whole().length < 150)

    const args = ['--events', events, '--consumer', 'c', '--start', 'earliest']
    t.equal(intoFull(root, out, args).code, 1)
    const taken = whole()
    const rest = tail(root, args).stdout.split('\n').slice(0, -1)
    t.equal(new Set([...taken, ...rest]).size, 150, 'nothing is lost')
  },
)

t.test('kim-tail - CL-65 silence counts once everything that stood there was looked at', async t => {
  const root = t.testdir()
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
  const run = (...args: string[]): Ended => tail(root, ['--events', events, '-o', 'cat', ...args])
  const waiting = run('--wait', '--after-seq', '2', '--timeout', '1ms')
  t.equal(waiting.stdout, 'text 3\n', 'what waits is no silence, however long it takes to get there')
  t.equal(waiting.code, 0)
  t.equal(run('--wait', '--after-seq', '3', '--timeout', '1ms').code, 3)
})

t.test('kim-tail - CL-65 --deadline ends a wait for a command that keeps failing', async t => {
  const root = t.testdir()
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
  const held = ['--events', events, '-f', '--consumer', 'c', '--start', 'earliest', '--exec', 'exit 1']
  t.equal(tail(root, [...held, '--deadline', '1500ms']).code, 3)
  const out = join(root, 'out')
  const next = `echo $KIJITOMON_ID >> '${out}'`
  t.equal(tail(root, ['--events', events, '--consumer', 'c', '--exec', next]).code, 0)
  t.equal(readFileSync(out, 'utf8'), '1\n2\n3\n', 'nothing was passed over')
})

t.test(
  'kim-tail - CL-65 --deadline also ends a look at existing records, which can be continued',
  async t => {
    const root = t.testdir()
    const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 100_000) })
    for (const follow of [[], ['-f']]) {
      const args = ['--events', events, '-n', 'all', ...follow, '--deadline', '1ms', '-o', 'agent']
      const { code, stdout } = tail(root, args)
      const end = /^kim end reason=deadline(?: resume="--after-seq (\d+)")?$/m.exec(stdout)
      t.ok(end, stdout.slice(-200))
      const printed = [...stdout.matchAll(/^seq=(\d+) /gm)].map(([, number]) => number)
      t.ok(printed.length < 100_000)
      t.equal(printed.at(-1), end?.[1], 'as far as it was printed')
      t.equal(code, printed.length === 0 ? 3 : 0)
    }
  },
)

t.test('kim-tail - CL-65 what --until-match waits for is not held back by --max-rate', async t => {
  const root = t.testdir()
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 9) })
  const args = ['--events', events, '-f', '--after-seq', '0', '--max-rate', '1/1h', '--deadline', '20s']
  const { code, stdout } = tail(root, [...args, '--until-match', 'text 7', '-o', 'agent'])
  t.equal(code, 0)
  t.match(stdout, /seq=1 .*\nkim suppressed n=5 first=2 last=6\nseq=7 .*\nkim end reason=met/)
})

t.test('kim-tail - CL-65 following ends when the time of --until has passed', async t => {
  const root = t.testdir()
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
  const args = ['--events', events, '-f', '--deadline', '20s', '-o', 'agent', '--all-records']
  const past = tail(root, [...args, '--until', '2026-06-11'])
  t.match(past.stdout, /seq=3 .*\nkim end reason=until/)
  t.equal(past.code, 0)
  const none = tail(root, [...args, '--after-seq', '3', '--until', '+1s'])
  t.match(none.stdout, 'kim end reason=until')
  t.equal(none.code, 3)
})

t.test(
  'kim-tail - CL-39 a terminal that closes ends the command of --exec too',
  { skip: process.platform === 'win32' },
  async t => {
    const root = t.testdir()
    const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
    const pid = join(root, 'pid')
    const running = new Following(root, [
      ...['--events', events, '-f', '--consumer', 'c', '--start', 'earliest'],
      ...['--exec', `echo $$ > '${pid}.new' && mv '${pid}.new' '${pid}' && echo begun >&2 && exec sleep 60`],
    ])
    await running.until(({ stderr }) => stderr.includes('begun'))
    running.child.kill('SIGHUP')
    t.equal((await running.ended).code, 129)
    const command = Number(readFileSync(pid, 'utf8'))
    // The system may still list it for a moment.
    for (const end = performance.now() + 30_000; isProcessAlive(command) && performance.now() < end; )
      await sleep(5)
    t.notOk(isProcessAlive(command))

    const agent = new Following(root, ['--events', events, '-f', '-o', 'agent'])
    await agent.until(({ lines: said }) => said.some(one => one.startsWith('kim ready')))
    agent.child.kill('SIGHUP')
    const { code, stdout } = await agent.ended
    t.equal(code, 0)
    t.match(stdout, /^kim end reason=sighup resume="--after-seq 3"$/m)
  },
)

t.test('kim-tail - CL-38 an agent gets every error, also of a command line that cannot be read', async t => {
  const root = t.testdir({ file: '' })
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
  const told = (args: string[], more = {}): string => {
    const { code, stdout } = tail(root, args, more)
    t.not(code, 0)
    t.match(stdout, /\nkim end reason=error\n$/)
    return /^kim error code=(\S+)/.exec(stdout)?.[1] ?? stdout
  }
  t.equal(told(['-o', 'agent', '--bogus']), 'usage')
  t.equal(told(['-fo', 'agent', '--events', events, '-c']), 'usage')
  t.equal(told(['--events', events, '-S', 'never'], { KIM_AGENT: '1' }), 'usage')
  t.equal(told(['--bogus'], { KIM_AGENT: '1' }), 'usage')
  const inTheWay = { XDG_STATE_HOME: join(root, 'file') }
  t.equal(
    told(['--events', events, '--consumer', 'c', '-o', 'agent'], inTheWay),
    'store_failed',
    'as on stderr',
  )
  t.equal(tail(root, ['-o', 'cat', '--bogus'], { KIM_AGENT: '1' }).stdout, '')
  t.equal(tail(root, ['show'], { KIM_AGENT: '1' }).stdout, '', 'only lines of agent mode are its own')
})

t.test('kim-tail - CL-66 what cannot be read is reported, and is no silence', async t => {
  const root = t.testdir()
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': lines(1, 3) })
  mkdirSync(join(events, 'seg-00000004.jsonl'))
  for (const more of [[], ['-f', '--deadline', '10s'], ['--after-seq', '0'], ['-n', 'all', '-q']]) {
    const { stderr, stdout } = tail(root, ['--events', events, '-o', 'agent', ...more])
    t.equal(
      stdout.match(/^kim warning text="cannot read seg-00000004.jsonl .*"$/gm)?.length,
      1,
      more.join(' '),
    )
    t.match(stderr, 'cannot read seg-00000004.jsonl')
    t.match(stdout, /^kim end /m)
  }
  const { code, stderr } = tail(root, ['show', '5', '--events', events])
  t.equal(code, 4)
  t.match(stderr, 'seg-00000004.jsonl')
})

t.test('kim-tail - CL-39 a reader that does not read is not waited for', async t => {
  const root = t.testdir()
  const body = 'x'.repeat(2000)
  const payload = (id: number): Readonly<Record<string, unknown>> => ({
    payload: { content: body, from: 'argus', id, persona: 'river' },
  })
  const segment = Array.from({ length: 2000 }, (_, i) => line(i + 1, payload(i + 1))).join('')
  const events = write(join(root, 'events'), { 'seg-00000001.jsonl': segment })
  const args = ['--events', events, '--consumer', 'c', '--start', 'earliest', '--fields', 'seq,text']
  const child = spawn(process.execPath, [BIN, ...args, '-f'], {
    env: environment(root),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  // Whoever has asked to be told keeps what came when the process ends.
  child.stdout.on('readable', () => {})
  const cursor = join(root, 'state/kim/clients/kim-tail/cursors/c.json')
  while (!existsSync(cursor)) await sleep(20)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  t.same(await exited, [143, null])
  let taken = ''
  for await (const chunk of child.stdout) taken += String(chunk)
  const seqs = (text: string): number[] =>
    [...text.matchAll(/"seq":(\d+),.*\n/g)].map(([, seq]) => Number(seq))
  t.ok(seqs(taken).length < 2000, 'it did stand still')
  t.equal(new Set([...seqs(taken), ...seqs(tail(root, args).stdout)]).size, 2000, 'nothing is lost')
})
