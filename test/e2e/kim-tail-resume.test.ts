import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Following, line, tail, write } from './kim-tail-process.js'

const PROJECT = 'a'.repeat(32)
const GENESIS = line(1, {
  action: 'journal_note',
  agent: 'kim',
  event: undefined,
  item_id: 'genesis',
  item_type: 'journal',
  payload: { kind: 'genesis', project_id: PROJECT, schema_version: 1 },
})
const lines = (from: number, to: number, more = {}): string =>
  Array.from({ length: to - from + 1 }, (_, i) => line(from + i, more)).join('')
const seqs = (stdout: string): number[] => [...stdout.matchAll(/^seq=(\d+) /gm)].map(([, seq]) => Number(seq))
const resumeOf = (stdout: string): string[] => (/ resume="([^"]*)"/.exec(stdout)?.[1] ?? '').split(' ')

t.test('kim-tail - CL-38 resume loses nothing that was not printed', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + lines(2, 5) })
  const run = (...args: string[]): string => tail(root, ['--store', store, '-o', 'agent', ...args]).stdout
  for (const first of [
    ['-n', 'all'],
    ['-n', 'all', '-f'],
    ['--after-seq', '0'],
  ]) {
    let next = first
    const printed: number[] = []
    for (let turn = 0; turn < 4; turn++) {
      const stdout = run('-c', '1', ...next)
      printed.push(...seqs(stdout))
      next = resumeOf(stdout)
    }
    t.same(printed, [2, 3, 4, 5], first.join(' '))
  }
  t.same(resumeOf(run('--to-seq', '3')), ['--after-seq', '3'])
  t.same(resumeOf(run('--to-seq', '3', '--after-seq', '0')), ['--after-seq', '3'])
  t.same(resumeOf(run('-c', '0', '-n', 'all')), ['--after-seq', '1'], 'nothing was printed')
})

t.test('kim-tail - CL-23 --show-cursor names the last record that was printed', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + lines(2, 5) })
  const cursor = (...args: string[]): string => {
    const { stderr } = tail(root, ['--store', store, '-o', 'cat', '--show-cursor', ...args])
    return /^cursor: (.*)$/m.exec(stderr)?.[1] ?? ''
  }
  const next = (token: string): string =>
    tail(root, ['--store', store, '-o', 'cat', '--after-cursor', token]).stdout
  t.equal(next(cursor('-n', 'all', '-c', '1')), 'text 3\ntext 4\ntext 5\n')
  t.equal(next(cursor('--to-seq', '4')), 'text 5\n')
  t.equal(next(cursor('-n', '1')), '')
})

t.test('kim-tail -f - CL-20 --to-seq ends at once where that number has passed', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + lines(2, 5) })
  const run = (...args: string[]): ReturnType<typeof tail> =>
    tail(root, ['--store', store, '-f', '-o', 'cat', '--to-seq', '3', ...args])
  t.match(run(), { code: 0, stdout: 'text 2\ntext 3\n' })
  t.match(run('--after-seq', '4'), { code: 0, stdout: '' })
})

t.test(
  'kim-tail --exec - CL-38 after a rewind, an event that is held keeps the place it was told',
  async t => {
    const root = t.testdir()
    const store = write(join(root, 'store'), {
      'events/seg-00000001.jsonl': GENESIS + lines(2, 90) + lines(91, 95, { writer: 'w_2-bb' }),
    })
    const file = join(root, 'state/kim/clients/kim-tail/cursors/c.json')
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(
      file,
      JSON.stringify({ checkpoint_seq: 0, project_id: PROJECT, seq: 100, writer: 'w_1-aa' }),
    )
    const consume = ['--store', store, '--consumer', 'c']
    const held = new Following(root, [...consume, '-f', '--exec', 'exit 3'])
    await held.until(({ stderr }) => stderr.includes('retrying river:new:91'))
    held.child.kill('SIGTERM')
    t.equal((await held.ended).code, 143)
    t.match(JSON.parse(readFileSync(file, 'utf8')), { project_id: PROJECT, seq: 90 })
    const again = tail(root, [...consume, '--exec', 'echo $KIJITOMON_ID'])
    t.equal(again.stderr, '91\n92\n93\n94\n95\n', 'and nothing that was committed')
  },
)

t.test('kim-tail - CL-24 --commit ack stores where a new consumer begins, and no more', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + lines(2, 4) })
  const run = (...args: string[]): ReturnType<typeof tail> => tail(root, ['--store', store, ...args])
  const consume = ['--consumer', 'c', '--commit', 'ack', '--start', 'earliest', '-o', 'cat']
  t.equal(run(...consume).stdout, 'text 2\ntext 3\ntext 4\n')
  t.match(tail(root, ['ack', '--store', store, '--consumer', 'c', '--seq', '3']), {
    code: 0,
    stdout: 'c: cursor moved to seq 3\n',
  })
  t.equal(run(...consume).stdout, 'text 4\n', 'what was not acknowledged comes again')
  run('--consumer', 'd', '--commit', 'ack')
  t.match(tail(root, ['ack', '--store', store, '--consumer', 'd', '--seq', '4']).stdout, 'already')
  run('--consumer', 'e', '--commit', 'never')
  t.equal(tail(root, ['ack', '--store', store, '--consumer', 'e', '--seq', '4']).code, 2, 'never is never')
})

t.test('kim-tail -o agent - CL-37 a wait for the consumer is said while it is waited', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS })
  const consume = ['--store', store, '--consumer', 'c', '-f', '-o', 'agent']
  const first = new Following(root, consume)
  await first.have(1)
  const second = new Following(root, consume)
  await second.have(1)
  t.same(second.lines, ['kim waiting reason=consumer_held'])
  first.child.kill('SIGTERM')
  await second.until(({ lines }) => lines.some(text => text.startsWith('kim ready')))
  second.child.kill('SIGTERM')
  t.equal((await second.ended).code, 0)
})

t.test('kim-tail ack - of several at once, the highest stands', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + lines(2, 20) })
  tail(root, ['cursors', 'set', 'c', '--seq', '0', '--store', store])
  const acks = [20, 5, 6, 7].map(
    seq => new Following(root, ['ack', '--store', store, '--consumer', 'c', '--seq', String(seq)]).ended,
  )
  for (const { code } of await Promise.all(acks)) t.equal(code, 0)
  t.match(tail(root, ['cursors', 'ls', '--json']).stdout, '"seq":20')
})

t.test('kim-tail - CL-6 a cursor that cannot be stored is one error, told to an agent too', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + line(2) })
  const file = join(root, 'state/kim/clients/kim-tail/cursors/c.json')
  const following = new Following(root, ['--store', store, '--consumer', 'c', '-f', '-o', 'agent'])
  while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 10))
  rmSync(file)
  mkdirSync(file)
  appendFileSync(join(store, 'events/seg-00000001.jsonl'), line(3))
  const { code, stderr, stdout } = await following.ended
  t.equal(code, 1)
  t.match(stdout, /\nkim error code=store_failed /)
  t.notMatch(stderr, /\n {4}at /, 'no stack')
  t.same(
    readdirSync(join(file, '..')).filter(name => name.endsWith('.tmp')),
    [],
  )
})

t.test('kim-tail - JF-46 a line that is repeated is printed once, from either end', async t => {
  const root = t.testdir()
  const repeated = line(3) + line(3) + line(3)
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + line(2) + repeated })
  const run = (...args: string[]): string => tail(root, ['--store', store, '-o', 'cat', ...args]).stdout
  t.equal(run('-n', '3'), 'text 2\ntext 3\n')
  t.equal(run('-n', 'all'), 'text 2\ntext 3\n')
})

/** The call that README shows for a program that waits for mail, without its comment. */
const wakeLine = (): string[] => {
  const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8')
  const [, call = ''] = /^kim-tail (.*--wait .*)$/m.exec(readme) ?? []
  return call.replace(/ +#.*/, '').replace(' -o agent', '').split(' ')
}

t.test('kim-tail --wait - CL-21 in a loop, the documented call misses nothing', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + line(2) })
  const segment = join(store, 'events/seg-00000001.jsonl')
  const call = [...wakeLine(), '--store', store, '-o', 'cat']
  if (!call.includes('--consumer')) throw new Error(`no consumer: ${call.join(' ')}`)
  const name = call[call.indexOf('--consumer') + 1] ?? ''
  const file = join(root, `state/kim/clients/kim-tail/cursors/${name}.json`)
  const first = new Following(root, call)
  await first.until(() => true)
  while (!existsSync(file) && first.child.exitCode === null) await new Promise(next => setTimeout(next, 10))
  appendFileSync(segment, line(3))
  t.match(await first.ended, { code: 0, stdout: 'text 3\n' })
  appendFileSync(segment, line(4) + line(5))
  t.match(tail(root, call), { code: 0, stdout: 'text 4\n' }, 'it came while the caller worked')
  t.match(tail(root, call), { code: 0, stdout: 'text 5\n' })
})

t.test('kim-tail --wait - CL-21 without a position, it says that earlier mail is not seen', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': GENESIS + line(2) })
  const run = (...args: string[]): ReturnType<typeof tail> =>
    tail(root, ['--store', store, '--wait', '--timeout', '100ms', ...args])
  const said = /^kim-tail: --wait prints only what comes from now on.*--consumer NAME/
  t.match(run(), { code: 3, stderr: said, stdout: '' })
  t.match(run('-o', 'agent').stdout, /^kim ready .*\nkim warning text="--wait prints only .*--consumer NAME/)
  for (const silent of [
    ['-q'],
    ['--consumer', 'c'],
    ['--after-seq', '2'],
    ['--cursor-file', join(root, 'at')],
  ]) {
    t.notMatch(run(...silent).stderr, '--wait', silent.join(' '))
  }
})

/** Code that Node runs first: every close of a file below a directory reports EIO, after it closed. */
const brokenCloses = (directory: string): string => {
  const code = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { openSync, closeSync } = fs
    const mine = new Set()
    fs.openSync = (path, ...rest) => {
      const fd = openSync(path, ...rest)
      if (String(path).startsWith(${JSON.stringify(directory)})) mine.add(fd)
      return fd
    }
    fs.closeSync = fd => {
      closeSync(fd)
      if (mine.delete(fd)) throw Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO', syscall: 'close' })
    }
    syncBuiltinESMExports()
  `
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

t.test('kim-tail - OB-27 a close that answers EIO ends nothing and hides nothing', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), {
    'events/archive/seg-00000001.jsonl': GENESIS + lines(2, 3),
    'events/seg-00000004.jsonl': lines(4, 6),
  })
  const env = { NODE_OPTIONS: brokenCloses(store) }
  const run = (...args: string[]): ReturnType<typeof tail> => tail(root, [...args, '--store', store], env)
  const all = 'text 2\ntext 3\ntext 4\ntext 5\ntext 6\n'
  t.match(run('-o', 'cat', '-n', 'all'), { code: 0, stderr: '', stdout: all })
  t.match(run('-o', 'cat', '--consumer', 'c', '--start', 'earliest').stdout, all)
  t.match(run('show', '2'), { code: 0 })
  t.match(run('personas'), { code: 0 })
  const following = new Following(root, ['-f', '-o', 'cat', '-n', 'all', '--store', store], env)
  await following.have(5)
  appendFileSync(join(store, 'events/seg-00000004.jsonl'), line(7))
  write(store, { 'events/seg-00000008.jsonl': line(8) })
  await following.have(7)
  t.same(following.lines.slice(5), ['text 7', 'text 8'])
  following.child.kill('SIGTERM')
  t.equal((await following.ended).code, 143)
})
