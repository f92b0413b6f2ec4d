import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Delivery, Disk, EventFile, type EventFileParts } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { FaultyFs } from '../kit/faulty-fs.js'
import { homeOf } from '../kit/home.js'

/** A directory of its own, a file system that can be made to fail, and an event file on both. */
function setUp(
  t: Test,
  more: Partial<EventFileParts> = {},
): { file: EventFile; fs: FaultyFs; path: string; dir: string; said: string[]; parts: EventFileParts } {
  const dir = homeOf(t)
  const fs = new FaultyFs()
  const said: string[] = []
  const log: EventFileParts['log'] = ({ code }) => void said.push(code)
  const uid = process.getuid?.()
  const disk = new Disk(fs.port, uid, {}, log)
  const path = join(dir, 'ev.ndjson')
  const parts = { fs: fs.port, disk, uid, log, storeDir: join(dir, 'store'), bytesMax: 0, keep: 5, ...more }
  return { file: new EventFile(path, parts), fs, path, dir, said, parts }
}

const number = (name: string): number => Number(/\.(\d+)$/.exec(name)?.[1] ?? 0)

/** Hands lines over as the runner does: what was taken is noted, and the rest comes next. */
function appendAll(file: EventFile, lines: readonly string[]): Delivery {
  let taken = 0
  for (;;) {
    const appended = file.append(lines.slice(taken))
    taken += appended.taken
    if (appended.failure !== undefined || taken === lines.length) return { ...appended, taken }
  }
}

const textOf = (path: string): string => readFileSync(path, 'utf8')

t.test('event file - KS-72 a full disk takes what fits, and the rest follows when there is room', async t => {
  const { file, fs, path } = setUp(t)
  t.same(file.append(['one', 'two']), { taken: 2, failure: undefined })
  fs.break('writeSync', path, 6)
  t.match(file.append(['three', 'four', 'five']), { taken: 1, failure: /full/ })
  t.equal(textOf(path), 'one\ntwo\nthree\n')
  fs.break('writeSync', path, 3)
  t.match(file.append(['four', 'five']), { taken: 0, failure: /full/ })
  t.equal(textOf(path), 'one\ntwo\nthree\nfou')
  fs.break('writeSync', path, 'ENOSPC')
  t.match(file.append(['four', 'five']), { taken: 0, failure: /ENOSPC/ })
  fs.heal()
  t.same(file.append(['four', 'five']), { taken: 2, failure: undefined })
  t.equal(textOf(path), 'one\ntwo\nthree\nfou\nfour\nfive\n', 'the cut line is ended, nothing is changed')
})

t.test(
  'event file - KS-72 a full disk that takes all of a line but its end is not given it twice',
  async t => {
    const { file, fs, path } = setUp(t)
    fs.break('writeSync', path, 7)
    t.match(file.append(['one', 'two', 'three']), { taken: 1, failure: /full/ })
    fs.heal()
    t.same(file.append(['two', 'three']), { taken: 1, failure: undefined })
    t.equal(textOf(path), 'one\ntwo\n')
    t.equal(file.append(['three']).taken, 1)
    t.equal(textOf(path), 'one\ntwo\nthree\n')
  },
)

t.test('event file - J11 what cannot be synced was not taken, and comes again', async t => {
  const { file, fs, path } = setUp(t)
  file.append(['one'])
  fs.break('fdatasyncSync', path, 'EIO')
  t.match(file.append(['two']), { taken: 0, failure: /durable/ })
  fs.heal()
  t.same(file.append(['two']), { taken: 1, failure: undefined })
  t.equal(textOf(path), 'one\ntwo\ntwo\n', 'the line may stand twice')
})

t.test('event file - what was synced before a rotation stays taken when what follows fails', async t => {
  const { file, fs, path } = setUp(t, { bytesMax: 8 })
  let syncs = 0
  fs.fault = ({ name }) => (name === 'fdatasyncSync' && ++syncs === 2 ? 'EIO' : undefined)
  t.match(appendAll(file, ['one', 'two', 'three']), { taken: 2, failure: /durable/ })
  fs.heal()
  t.same(file.append(['three']), { taken: 1, failure: undefined })
  t.equal(textOf(`${path}.2`), 'one\ntwo\n')
})

t.test('event file - a name is durable before what it names counts', async t => {
  const { file, fs, path, dir } = setUp(t, { bytesMax: 8 })
  file.append(['one'])
  t.equal(fs.count('fsyncSync', dir), 1)
  file.append(['two'])
  t.equal(fs.count('fsyncSync', dir), 1, 'once is enough')
  file.append(['three'])
  t.equal(fs.count('fsyncSync', dir), 2, 'until it is another file')
  t.equal(textOf(path), 'three\n')
})

t.test('event file - one that cannot be renamed goes on growing', async t => {
  const { file, fs, path, said } = setUp(t, { bytesMax: 8 })
  fs.break('renameSync', path, 'EACCES')
  t.same(appendAll(file, ['one', 'two', 'three', 'four']), { taken: 4, failure: undefined })
  t.equal(textOf(path), 'one\ntwo\nthree\nfour\n')
  t.ok(said.includes('not_rotated'))
  fs.heal()
  file.append(['five'])
  t.equal(textOf(path), 'five\n')
})

t.test('event file - KS-87 a hard link is refused, before and while the file is in use', async t => {
  const { file, path, dir } = setUp(t)
  const other = join(dir, 'seg-00000001.jsonl')
  writeFileSync(other, 'a record\n', { mode: 0o600 })
  linkSync(other, path)
  t.match(file.append(['one']), { taken: 0, failure: /a second name/ })
  rmSync(path)
  t.same(file.append(['one']), { taken: 1, failure: undefined })
  rmSync(path)
  linkSync(other, path)
  t.match(file.append(['two']), { taken: 0, failure: /a second name/ })
  rmSync(path)
  t.same(file.append(['two']), { taken: 1, failure: undefined })
  t.equal(textOf(other), 'a record\n')
})

t.test(
  'event file - as many rotated files are kept as were asked for, and no stranger is touched',
  async t => {
    const { file, path, dir } = setUp(t, { bytesMax: 4, keep: 2 })
    writeFileSync(`${path}.bak`, 'mine', { mode: 0o644 })
    appendAll(file, ['one', 'two', 'six', 'ten'])
    t.same(readdirSync(dir).sort(), ['ev.ndjson', 'ev.ndjson.1', 'ev.ndjson.2', 'ev.ndjson.bak'])
    t.same([textOf(`${path}.2`), textOf(`${path}.1`), textOf(path)], ['two\n', 'six\n', 'ten\n'])
    t.equal(textOf(`${path}.bak`), 'mine')
  },
)

t.test('event file - KS-72 lines stand once and in order, whatever fails where', async t => {
  const seed = Number(process.env['KIM_SEED'] ?? 20260610)
  t.comment(`KIM_SEED=${seed}`)
  let state = seed
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
  const { file, fs, path, dir } = setUp(t, { bytesMax: 300, keep: 1000 })
  const written: string[] = []
  let pending: string[] = []
  let faults = 0
  for (let n = 0; n < 200; n++) {
    const fault = random(4)
    // Nothing that fails here leaves it unknown whether a line stands.
    fs.fault = ({ name, path: where }) => {
      if (!where.startsWith(path)) return undefined
      if (fault === 0 && name === 'writeSync') return random(60)
      if (fault === 1 && name === 'openSync' && random(2) === 0) return 'EMFILE'
      return undefined
    }
    for (let more = random(6); more > 0; more--) pending.push(`${n}-${more}-${'x'.repeat(random(80))}`)
    const { taken, failure } = appendAll(file, pending)
    if (failure !== undefined) faults++
    written.push(...pending.slice(0, taken))
    pending = pending.slice(taken)
    if (random(10) === 0) file.close()
  }
  fs.heal()
  written.push(...pending.slice(0, appendAll(file, pending).taken))
  const names = readdirSync(dir).sort((a, b) => number(b) - number(a))
  const stands = names.flatMap(name => textOf(join(dir, name)).split('\n').slice(0, -1))
  const whole = new Set(written)
  t.same(
    stands.filter(line => whole.has(line)),
    written,
  )
  t.ok(faults > 20, `${faults} appends failed`)
})

t.test(
  'event file - KS-90 what an earlier process appended and did not note is not appended again',
  async t => {
    const { file, path, parts } = setUp(t, { bytesMax: 12 })
    t.equal(appendAll(file, ['one', 'two', 'three', 'four']).taken, 4)
    file.close()
    const next = new EventFile(path, parts)
    t.same(appendAll(next, ['two', 'three', 'four', 'five']), { taken: 4, failure: undefined })
    const files = [`${path}.2`, `${path}.1`, path]
    t.same(files.map(textOf), ['one\ntwo\n', 'three\nfour\n', 'five\n'], 'rotated ones count')
  },
)

t.test('event file - KS-90 no append leaves its file, nor outgrows what is looked back at', async t => {
  const { file } = setUp(t, { bytesMax: 12 })
  t.same(file.append(['one', 'two', 'three']), { taken: 2, failure: undefined }, 'three would rotate')
  t.same(file.append(['three']), { taken: 1, failure: undefined })
  const long = setUp(t).file
  const line = 'x'.repeat(16_000)
  t.same(long.append(Array.from({ length: 100 }, () => line)), { taken: 8, failure: undefined }, '128 KiB')
  t.same(long.append(['x'.repeat(1_000_000)]), { taken: 1, failure: undefined }, 'but never none')
})

t.test('event file - KS-90 a line that lacks nothing but its end is ended, and stands', async t => {
  const { path, parts } = setUp(t)
  writeFileSync(path, 'one\ntwo', { mode: 0o600 })
  const file = new EventFile(path, parts)
  t.same(file.append(['two', 'three']), { taken: 1, failure: undefined })
  t.equal(textOf(path), 'one\ntwo\n')
  t.equal(file.append(['three']).taken, 1)
  t.equal(textOf(path), 'one\ntwo\nthree\n')
})

t.test('event file - KS-90 signs of life tell nothing about what stands', async t => {
  const { path, parts } = setUp(t)
  writeFileSync(path, 'one\n', { mode: 0o600 })
  const file = new EventFile(path, parts)
  t.equal(file.append(['beat'], false).taken, 1)
  t.equal(file.append(['one']).taken, 1)
  t.equal(textOf(path), 'one\nbeat\n')
})

t.test('event file - KS-90 a line of the same event stands, whatever else it says', async t => {
  const { path, parts } = setUp(t)
  const line = (content: string): string => JSON.stringify({ content, event_id: 'river:new:1' })
  writeFileSync(path, `${line('the whole')}\n`, { mode: 0o600 })
  new EventFile(path, parts).append([line('the')])
  t.equal(textOf(path), `${line('the whole')}\n`, 'as with another --content-chars')
})

t.test('event file - KS-87 an unreadable file beside it blocks no event', async t => {
  const { path, parts, dir } = setUp(t)
  mkdirSync(`${path}.1`)
  symlinkSync(join(dir, 'nowhere'), `${path}.2`)
  t.same(new EventFile(path, parts).append(['one']), { taken: 1, failure: undefined })
})

t.test('event file - KS-90 an end that could not be read is looked at again', async t => {
  const { fs, path, parts } = setUp(t)
  writeFileSync(path, 'one\n', { mode: 0o600 })
  const file = new EventFile(path, parts)
  let opened = 0
  fs.fault = ({ name, path: where }) =>
    name === 'openSync' && where === path && ++opened === 2 ? 'EMFILE' : undefined
  t.match(file.append(['one']), { taken: 0, failure: /EMFILE/ })
  t.same(file.append(['one']), { taken: 1, failure: undefined })
  t.equal(textOf(path), 'one\n')
})

t.test(
  'event file - KS-90 after the first new line every line is new, and a torn one never stands',
  async t => {
    const { path, parts } = setUp(t)
    writeFileSync(path, 'one\ntwo\nthr', { mode: 0o600 })
    const file = new EventFile(path, parts)
    t.equal(file.append(['two']).taken, 1)
    t.equal(appendAll(file, ['three', 'two', 'one']).taken, 3)
    t.equal(textOf(path), 'one\ntwo\nthr\nthree\ntwo\none\n')
  },
)

t.test('event file - KS-90 what the disk had refused is not trusted to stand', async t => {
  const { path, parts } = setUp(t)
  writeFileSync(path, 'one\n', { mode: 0o600 })
  t.equal(new EventFile(path, parts, false).append(['one']).taken, 1)
  t.equal(textOf(path), 'one\none\n')
})

t.test('event file - KS-90 only the end of a long file is looked at', async t => {
  const { path, parts } = setUp(t)
  const lines = Array.from({ length: 40_000 }, (_, n) => `line ${String(n).padStart(8, '0')}`)
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
  const file = new EventFile(path, parts)
  const size = textOf(path).length
  appendAll(file, lines.slice(-1000))
  t.equal(textOf(path).length, size)
  const other = new EventFile(path, parts)
  other.append(lines.slice(0, 1))
  t.equal(textOf(path).length, size + 14, 'further back it does not stand')
})

t.test('event file - KS-87 one that is refused is left as it is', async t => {
  const { file, path, dir } = setUp(t)
  const other = join(dir, 'other')
  writeFileSync(other, 'mine\n')
  chmodSync(other, 0o644)
  linkSync(other, path)
  t.match(file.append(['one']), { taken: 0, failure: /a second name/ })
  t.equal(statSync(other).mode & 0o777, 0o644)
})

t.test('event file - KS-87 one that is open is judged again when somebody changed it', async t => {
  const { file, path, dir } = setUp(t)
  t.equal(file.append(['one']).taken, 1)
  linkSync(path, join(dir, 'second'))
  t.match(file.append(['two']), { taken: 0, failure: /a second name/ })
  rmSync(join(dir, 'second'))
  t.equal(file.append(['two']).taken, 1)
  chmodSync(path, 0o644)
  t.equal(file.append(['three']).taken, 1)
  t.equal(statSync(path).mode & 0o777, 0o600, 'private again')
  t.equal(textOf(path), 'one\ntwo\nthree\n')
})
