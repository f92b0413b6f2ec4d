import { type Decoded, decodeLine, LineFramer, limits } from '@kim/manifest'
import t from 'tap'
import { LineDecoder } from '../../dist/tail/line-decoder.js'

interface Seen {
  readonly decoded: Decoded
  readonly offset: number
  readonly end: number
  readonly bytes: string
}

const line = (summary: string): string =>
  `{"action":"create","item_type":"message","item_id":"river/1","seq":7,"summary":"${summary}","v":2}`

const LINES: readonly (string | Buffer)[] = [
  line('plain'),
  line('plain, and some more of it'),
  line('snow \u2603, \u{1f600} and \u00e9'),
  `${line('with a return')}\r`,
  '',
  ' \t\r',
  '{"v":3,"seq":9}',
  '{"torn',
  'null',
  '1e999',
  `\ufeff${line('a mark')}`,
  Buffer.from([0x7b, 0xff, 0x7d]),
  Buffer.from([0xe2, 0x98]),
  Buffer.from([0x98, 0x83]),
]

/** As one line after the other is decoded by itself. */
function oneByOne(bytes: Buffer, offset: number): Seen[] {
  return new LineFramer(offset).push(bytes).map(framed => {
    if (framed.kind !== 'line') throw new Error('too long')
    const { length } = framed.bytes
    const decoded = decodeLine(framed.bytes, framed.atFileStart)
    return { decoded, offset: framed.offset, end: framed.offset + length + 1, bytes: hex(framed.bytes) }
  })
}

function inChunks(bytes: Buffer, offset: number, sizes: Iterator<number>): Seen[] {
  const decoder = new LineDecoder(offset)
  const seen: Seen[] = []
  // One buffer for all of them, as the reader has it.
  const window = Buffer.alloc(bytes.length)
  for (let at = 0; at < bytes.length; ) {
    const chunk = window.subarray(0, bytes.copy(window, 0, at, at + (sizes.next().value as number)))
    at += chunk.length
    for (decoder.use(chunk); decoder.next(); ) {
      const { decoded, end } = decoder
      seen.push({ decoded, offset: decoder.offset, end, bytes: hex(decoder.bytes) })
    }
    if (decoder.next()) throw new Error('a line after the last one')
  }
  return seen
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

function* always(size: number): Generator<number> {
  for (;;) yield size
}

function* varying(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    yield 1 + (state % 400)
  }
}

const joined = (lines: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat(lines.flatMap(one => [Buffer.from(one), Buffer.from('\n')]))

t.test('line decoder - says of each line what decoding it alone says, however the bytes are cut', async t => {
  const files = [
    joined(LINES),
    joined([`\ufeff${line('first')}`, line('second')]),
    // Nothing but ASCII, and nothing but text.
    joined([line('one'), line('two'), '', line('three')]),
    joined([line('\u2603'), line('two'), '', line('\u00e9')]),
    Buffer.concat([joined(LINES), Buffer.from('unfinished')]),
    Buffer.from('\n'),
  ]
  for (const bytes of files) {
    for (const offset of [0, 4096]) {
      const expected = oneByOne(bytes, offset)
      for (const size of [1, 2, 3, 7, 64, 100, 101, 1000, bytes.length])
        t.same(inChunks(bytes, offset, always(size)), expected, `${size} at a time`)
      for (let seed = 1; seed <= 50; seed++) t.same(inChunks(bytes, offset, varying(seed)), expected)
    }
  }
})

t.test('line decoder - a line that is too long is malformed, and what follows is read (JF-26)', async t => {
  const decoder = new LineDecoder(10)
  const mebibyte = Buffer.alloc(1024 * 1024, 'x')
  for (let i = 0; i <= limits.lineReadBytesMax / mebibyte.length; i++) {
    decoder.use(mebibyte)
    t.equal(decoder.next(), false)
  }
  decoder.use(joined(['', line('next')]))
  t.equal(decoder.next(), true)
  const length = limits.lineReadBytesMax + mebibyte.length
  t.match(decoder, { decoded: { kind: 'malformed', reason: 'too_long' }, offset: 10, end: 11 + length })
  t.equal(decoder.bytes.length, 0)
  t.equal(decoder.next(), true)
  t.match(decoder, { decoded: { kind: 'record' }, offset: 11 + length })
  t.equal(decoder.next(), false)
})

t.test('line decoder - a chunk longer than a line may be is cut all the same (JF-26)', async t => {
  const decoder = new LineDecoder(0)
  decoder.use(joined(['x'.repeat(limits.lineReadBytesMax + 1), line('next')]))
  t.equal(decoder.next(), true)
  t.match(decoder.decoded, { kind: 'malformed', reason: 'too_long' })
  t.equal(decoder.next(), true)
  t.match(decoder.decoded, { kind: 'record' })
})
