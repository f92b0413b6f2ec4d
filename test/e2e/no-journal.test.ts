import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LAUNCHERS, type Ran, run as runScript } from '../kit/commands.js'
import { line, write } from './kim-tail-process.js'

const { 'kim-producer': producer, 'kim-replay': replay, 'kim-tail': tail } = LAUNCHERS

const root = t.testdir()
const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) + line(2) })
const events = join(store, 'events')
const segment = join(events, 'seg-00000001.jsonl')
const other = join(root, 'other')
const empty = join(root, 'empty')
mkdirSync(other)
mkdirSync(empty)
writeFileSync(join(other, 'hosts'), 'not a record\n')

/** Every way to read a directory. */
const READERS: readonly (readonly string[])[] = [
  [producer, 'journal', 'verify'],
  [producer, 'journal', 'stats'],
  [replay, 'verify'],
  [replay, 'stats'],
  [replay, 'digest'],
  [replay, 'digest', '--full'],
  [tail],
  [tail, '-f'],
  [tail, 'status'],
  [tail, 'show', '1'],
]

function run([script = '', ...args]: readonly string[]): Ran & { readonly said: string } {
  const env = { PATH: process.env['PATH'], HOME: root, XDG_STATE_HOME: join(root, 'state') }
  const ran = runScript(script, args, { env, timeout: 30_000 })
  return { ...ran, said: ran.out + ran.err }
}

/** What is no journal, and what the hint has to say. */
const WRONG: readonly (readonly [what: string, path: string, hint: RegExp])[] = [
  ['a directory of other files', other, /is not a journal|no journal there/],
  ['a store', store, new RegExp(`${events}`)],
  ['a segment', segment, new RegExp(`did you mean --events ${events}\\?`)],
  ['a plain file', join(other, 'hosts'), /name the directory/],
]

for (const [what, path, hint] of WRONG) {
  t.test(`CL-41 no journal - ${what} given as --events is exit 4 and a hint`, async t => {
    for (const reader of READERS) {
      const { code, said } = run([...reader, '--events', path])
      t.equal(code, 4, `${reader.slice(1).join(' ')}: ${said}`)
      t.match(said, hint)
    }
  })
}

t.test('CL-41 no journal - an events directory given as --store is recognised', async t => {
  for (const reader of READERS.filter(([bin, , ...rest]) => bin !== tail && !rest.includes('--full'))) {
    if (reader.includes('digest')) continue
    const { code, said } = run([...reader, '--store', events])
    t.equal(code, 4, reader.slice(1).join(' '))
    t.match(said, `--events ${events}`)
  }
  for (const words of [
    ['journal', 'gc'],
    ['journal', 'repair'],
    ['journal', 'checkpoint'],
    ['journal', 'export'],
    ['status'],
  ]) {
    const { code, said } = run([producer, ...words, '--store', events])
    t.equal(code, 4, words.join(' '))
    t.match(said, `did you mean --store ${store}?`)
  }
})

t.test('CL-41 no journal - a store that this user may not enter is not called missing', async t => {
  const closed = join(root, 'closed')
  mkdirSync(join(closed, 'events'), { recursive: true })
  const uid = process.getuid?.() === 0 ? 1235 : process.getuid?.()
  chmodSync(root, 0o755)
  chmodSync(closed, uid === 1235 ? 0o700 : 0)
  for (const words of [['status'], ['journal', 'gc'], ['journal', 'export']]) {
    const { code, err } = runScript(producer, [...words, '--store', closed], { env: { HOME: root }, uid })
    t.equal(code, 77, words.join(' '))
    t.match(err, `cannot read ${closed} (EACCES)\n  run this as the user that owns the store\n`)
  }
  chmodSync(closed, 0o700)
})

t.test('CL-41 no journal - an empty directory is an empty journal', async t => {
  for (const reader of READERS.filter(reader => !reader.includes('-f') && !reader.includes('show'))) {
    const { code, said } = run([...reader, '--events', empty])
    t.equal(code, 0, `${reader.slice(1).join(' ')}: ${said}`)
  }
})

t.test('CL-11 kim-replay - takes a store', async t => {
  for (const verb of ['verify', 'stats', 'digest']) {
    const { out, err } = run([replay, verb, '--store', store])
    t.equal(out, run([replay, verb, '--events', events]).out, err)
    t.equal(run([replay, verb, '--store', store, '--events', events]).code, 2)
  }
})

t.test('verify - counts one as one', async t => {
  const { out } = run([replay, 'verify', '--events', events])
  t.match(out, /2 records in 1 segment \(/)
})

t.test('help - an example stands on one line, however wide the terminal is', async t => {
  for (const args of [
    [tail],
    [producer, 'journal', 'redact'],
    [producer, 'journal', 'verify'],
    [replay, 'digest'],
  ]) {
    const { code, out } = run([...args, '--help'])
    t.equal(code, 0)
    t.match(out, /\nExamples:\n {2}kim-\S+ .+\n {6}\S/)
  }
  t.match(
    run([producer, 'journal', 'redact', '--help']).out,
    / --entity message river\/246 --reason "holds a key"\n/,
  )
})

t.test('no journal - without any store the error says what creates one', async t => {
  const { code, err } = run([tail, '-p', 'river'])
  t.equal(code, 4)
  t.match(
    err,
    /^kim-tail: there is no journal at \S+default\n {2}create it with: kim-producer run --store \S+default; or name another store with --store DIR/,
  )
})
