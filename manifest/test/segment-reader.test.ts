import { Buffer } from 'node:buffer'
import {
  encodeRecord,
  isPeakBefore,
  lastSeqOf,
  limits,
  readSegment,
  recordsBackwards,
  SegmentReader,
} from '@kim/manifest'
import t from 'tap'
import type { ReadingMode } from '../dist/segment-reader.js'
import { Prng, seedOfRun } from './kit/prng.js'
import { record } from './kit/records.js'

type Report = readonly (string | number | null | undefined)[]

const ours = (seq: number, fields: object = {}): string =>
  encodeRecord(
    record({ seq, item_id: `river/${seq % 5}`, payload: { schema_version: 1, n: seq }, ...fields }),
  ).slice(0, -1)
const foreign = (fields: object): string =>
  JSON.stringify({ v: 2, action: 'create', item_type: 'message', item_id: 'x', ...fields })

/** A line in the frame of a foreign writer, with its members in their order. */
const framed = (seq: number, more: object = {}): string =>
  JSON.stringify({
    v: 2,
    seq,
    ts: '2026-06-10T14:03:22.114Z',
    writer: 'w_1-aa',
    agent: 'river',
    session_id: 's',
    action: 'create',
    item_type: 'plan',
    item_id: `p${seq % 3}`,
    entity_rev: seq,
    summary: 'a "summary"',
    payload: { n: seq, deep: { list: [{}] } },
    ...more,
  })

const file = (...lines: (string | Buffer)[]): Buffer =>
  Buffer.concat(lines.flatMap(line => [Buffer.from(line), Buffer.from('\n')]))

/** Reads a file in chunks of these sizes, all of them in the same memory, and notes what is reported. */
function read(
  bytes: Buffer,
  sizes: Iterator<number>,
  mode: ReadingMode = {},
): { lines: Report[]; reader: SegmentReader } {
  const lines: Report[] = []
  const reader = new SegmentReader(
    {
      framed: (frame, offset) => void lines.push(['released', frame.seq, offset, frame.line.toString()]),
      released: line => void lines.push(['released', line.record.seq, line.offset, line.bytes.toString()]),
      dropped: all =>
        void lines.push(...all.map(line => ['dropped', line.record.seq, line.offset, line.bytes.toString()])),
      repeated: line => void lines.push(['repeated', line.record.seq, line.offset]),
      malformed: line => void lines.push(['malformed', line.reason, line.offset, line.length]),
      future: (seq, line) => void lines.push(['future', seq, line.offset, line.length]),
      blank: line => void lines.push(['blank', line.offset, line.length]),
    },
    mode,
  )
  const window = Buffer.alloc(bytes.length)
  for (let at = mode.offset ?? 0; at < bytes.length; ) {
    const chunk = window.subarray(0, bytes.copy(window, 0, at, at + (sizes.next().value as number)))
    at += chunk.length
    if (!reader.push(chunk)) break
    window.fill(0x7e)
  }
  return { lines, reader }
}

function* always(size: number): Generator<number> {
  for (;;) yield size
}

function* random(prng: Prng): Generator<number> {
  for (;;) yield 1 + prng.int(prng.int(2) === 0 ? 8 : 600)
}

const tx = (id: string, i: number, n: number): object => ({ tx: { id, i, n } })

/** One line of each kind, and runs of every fate. */
function story(prng: Prng): Buffer {
  const makers: ((seq: number) => (string | Buffer)[])[] = [
    seq => [ours(seq)],
    seq => [ours(seq), ours(seq + 1, { action: 'delete' })],
    seq => [foreign({ seq, summary: 'é ☃' })],
    seq => ['', framed(seq), framed(seq + 1, { payload: undefined, action: 'delete' })],
    seq => [framed(seq, { tx: { id: 'z', i: 1, n: 1 } }), framed(seq + 1, { payload_ref: {} })],
    seq => [
      framed(seq, { payload: { text: '},"tx":{"id":"z","i":1,"n":2}}' } }),
      framed(seq + 1, { entity_rev: 'x' }),
    ],
    seq => [
      framed(seq).replace('"payload":{', '"payload":{"a":{}},"payload":{'),
      framed(seq + 1, { item_id: '' }),
    ],
    seq => [
      framed(seq, { item_id: undefined }),
      framed(seq + 1, { entity_rev: undefined, summary: undefined }),
    ],
    seq => [ours(seq, tx('a', 1, 2)), '', ours(seq + 1, tx('a', 2, 2))],
    seq => [ours(seq, tx('b', 1, 3)), ours(seq + 1, tx('b', 2, 3)), ours(seq + 2)],
    seq => [ours(seq), ours(seq + 1, tx('c', 2, 2))],
    seq => [ours(seq), ours(seq)],
    seq => [ours(seq), ours(seq + 1), ours(seq)],
    () => ['{"v":3,"seq":9}'],
    () => ['{"torn'],
    () => [Buffer.from([0x7b, 0xff, 0x7d])],
    () => [' \t\r'],
    seq => [`${ours(seq)}\r`],
    seq => [ours(Math.max(1, seq - 3), { summary: 'again' })],
  ]
  const lines: (string | Buffer)[] = []
  let seq = 1
  for (let n = prng.int(30); n > 0; n--) {
    lines.push(...(makers[prng.int(makers.length)] as (seq: number) => (string | Buffer)[])(seq))
    seq += 4
  }
  return Buffer.concat([file(...lines), Buffer.from(prng.int(2) === 0 ? '' : '{"unterminated')])
}

t.test('segment reader - reports the same however the bytes are cut, JF-40 to JF-46 RC-19', async t => {
  const prng = new Prng(seedOfRun())
  for (let run = 0; run < 800; run++) {
    const bytes = story(prng)
    const whole = read(bytes, always(bytes.length + 1))
    const cut = read(bytes, random(prng))
    if (JSON.stringify(cut.lines) !== JSON.stringify(whole.lines)) {
      t.same(cut.lines, whole.lines, `seed ${prng.seed}, run ${run}`)
      return
    }
    t.same(
      [cut.reader.end, cut.reader.resumeAt, cut.reader.peak],
      [whole.reader.end, whole.reader.resumeAt, whole.reader.peak],
    )
    t.same(cut.reader.unterminated, whole.reader.unterminated)
  }
})

t.test('segment reader - a fragment is what it becomes once it is terminated, RC-9', async t => {
  const fragments: readonly (readonly [string, Buffer])[] = [
    ['none', Buffer.alloc(0)],
    ['blank', Buffer.from(' \r')],
    ['record', Buffer.from(ours(2))],
    ['record', Buffer.from(`\ufeff${foreign({ seq: 2 })}`)],
    ['future', Buffer.from('{"v":3,"seq":2}')],
    ['malformed', Buffer.from('{"seq":2')],
    ['malformed', Buffer.from([0x7b, 0xff])],
    ['malformed', Buffer.alloc(limits.lineReadBytesMax + 1, ' ')],
  ]
  for (const before of [Buffer.alloc(0), file(ours(1))]) {
    for (const [kind, fragment] of fragments) {
      const isMark = fragment[0] === 0xef
      // A byte order mark counts at the start of a file alone.
      const expected = isMark && before.length > 0 ? 'malformed' : kind
      const seen: string[] = []
      const reader = new SegmentReader({
        valid: () => void seen.push('record'),
        future: () => void seen.push('future'),
        malformed: () => void seen.push('malformed'),
        blank: () => void seen.push('blank'),
      })
      reader.push(before)
      reader.push(fragment.subarray(0, 1))
      reader.push(fragment.subarray(1))
      seen.length = 0
      const what = `${kind} of ${fragment.length} bytes after ${before.length}`
      t.equal(reader.fragment, expected, what)
      reader.push(Buffer.from('\n'))
      if (kind !== 'none') t.same(seen, [expected], what)
    }
  }
})

t.test('segment reader - a lazy reader reports what a strict one does, or gives up, OB-11', async t => {
  const prng = new Prng(seedOfRun())
  let gaveUp = 0
  for (let run = 0; run < 800; run++) {
    const bytes = story(prng)
    const strict = read(bytes, random(prng))
    const lazy = read(bytes, random(prng), { isLazy: true })
    if (lazy.reader.isUnordered) gaveUp++
    else if (JSON.stringify(lazy.lines) !== JSON.stringify(strict.lines)) {
      t.same(lazy.lines, strict.lines, `seed ${prng.seed}, run ${run}`)
      return
    }
    const again: Report[] = []
    const listener = {
      framed: (frame: { readonly seq: number }, offset: number) =>
        void again.push(['released', frame.seq, offset]),
      released: (line: { readonly record: { readonly seq: number }; readonly offset: number }) =>
        void again.push(['released', line.record.seq, line.offset]),
      restart: () => void again.splice(0),
    }
    readSegment(() => [bytes], listener, { isLazy: true })
    t.same(
      again,
      strict.lines.filter(([kind]) => kind === 'released').map(line => line.slice(0, 3)),
    )
  }
  t.ok(gaveUp > 0 && gaveUp < 800, `${gaveUp} of 800 gave up`)
})

t.test('segment reader - one that begins in the middle knows the lines before it, JF-46', async t => {
  const bytes = file(ours(1), ours(2), ours(3), ours(2), ours(3, { summary: 'other' }))
  const offset = file(ours(1), ours(2), ours(3)).length
  const earlier = (): Buffer[] => [bytes.subarray(0, 7), bytes.subarray(7)]
  const { lines } = read(bytes, always(11), { offset, peak: 3, earlier })
  t.same(
    lines.map(line => line.slice(0, 2)),
    [
      ['repeated', 2],
      ['released', 3],
    ],
  )
})

t.test('segment reader - stops in front of a line and goes on from there', async t => {
  const bytes = file(ours(1), ours(2, tx('a', 1, 2)), ours(3, tx('a', 2, 2)), ours(4))
  const released: number[] = []
  let isStopping = true
  const reader = new SegmentReader({
    valid: ({ record }) => !(isStopping && record.seq === 3),
    released: ({ record }) => void released.push(record.seq),
  })
  t.notOk(reader.push(bytes))
  t.ok(reader.isStopped)
  t.same([released, reader.open.length], [[1], 1])
  t.equal(reader.end, file(ours(1), ours(2, tx('a', 1, 2))).length)
  isStopping = false
  reader.resume()
  t.ok(reader.push(bytes.subarray(reader.end)))
  t.same(released, [1, 2, 3, 4])
})

t.test('segment reader - a line above the limit is malformed, wherever it is cut, JF-20', async t => {
  const long = Buffer.alloc(limits.lineReadBytesMax + 1, 0x78)
  const bytes = file(ours(1), long, ours(2))
  const expected = [
    ['released', 1],
    ['malformed', 'too_long'],
    ['released', 2],
  ]
  for (const size of [bytes.length, 5_000_000]) {
    for (const isLazy of [false, true]) {
      const { lines } = read(bytes, always(size), { isLazy })
      t.same(
        lines.map(line => line.slice(0, 2)),
        expected,
        `${size} ${isLazy}`,
      )
    }
  }
})

t.test('segment backwards - returns the records forwards, turned round, JF-46', async t => {
  const prng = new Prng(seedOfRun())
  for (let run = 0; run < 400; run++) {
    const bytes = story(prng)
    const source = {
      bytes: bytes.length,
      read: (at: number, length: number) => bytes.subarray(at, at + length),
    }
    const forwards = read(bytes, always(bytes.length + 1)).lines
    const marks = forwards.filter(([kind]) => kind === 'released').map(([, seq, , text]) => `${seq} ${text}`)
    const found = [...recordsBackwards(source)].map(line => `${line.record.seq} ${line.bytes.toString()}`)
    t.same(found.toSorted(), marks.toSorted(), `seed ${prng.seed}, run ${run}`)
  }
})

t.test('segment backwards - of repeated lines the last one is returned, JF-46', async t => {
  const bytes = file(ours(1), ours(2), ours(1), ours(3))
  const source = {
    bytes: bytes.length,
    read: (at: number, length: number) => bytes.subarray(at, at + length),
  }
  t.same(
    [...recordsBackwards(source)].map(line => [line.record.seq, line.offset]),
    [
      [3, file(ours(1), ours(2), ours(1)).length],
      [1, file(ours(1), ours(2)).length],
      [2, file(ours(1)).length],
    ],
  )
})

t.test(
  'segment backwards - reads long lines piece by piece, and finds the last seq and the peak',
  async t => {
    for (const size of [0, 65_400, 65_536, 200_000]) {
      const bytes = Buffer.concat([
        file(
          ours(1),
          ours(7, { summary: 'x'.repeat(Math.min(size, 100)) }),
          'y'.repeat(size),
          ours(3),
          '{"v":3,"seq":12}',
        ),
        Buffer.from('unfinished'),
      ])
      const source = {
        bytes: bytes.length,
        read: (at: number, length: number) => bytes.subarray(at, at + length),
      }
      t.same(
        [...recordsBackwards(source)].map(line => line.record.seq),
        [3, 7, 1],
      )
      t.equal(lastSeqOf(source), 12)
      const end = bytes.lastIndexOf(10) + 1
      t.ok(isPeakBefore(source, end, 7))
      t.notOk(isPeakBefore(source, end, 5))
      t.notOk(isPeakBefore(source, end - 1, 7), 'no line ends there')
      t.ok(isPeakBefore(source, 0, 0))
    }
  },
)
