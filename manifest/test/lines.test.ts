import t from 'tap'
import { LineFramer } from '../dist/checkpoint-reader.js'
import { Prng, seedOfRun } from './kit/prng.js'

/** The lines that a chunk completes: where each begins, and its text. */
function linesOf(framer: LineFramer, chunk: Buffer, encoding?: BufferEncoding): [number, string][] {
  const lines: [number, string][] = []
  framer.use(chunk)
  while (framer.next()) {
    const { offset, bytes, from, to } = framer
    lines.push([offset, bytes === undefined ? `too long: ${to - from}` : bytes.toString(encoding, from, to)])
  }
  return lines
}

const END = Buffer.from('\n')

t.test('framer - cuts at 0x0A alone and says where each line begins', async t => {
  const framer = new LineFramer()
  t.same(linesOf(framer, Buffer.from('a\r\n\n\u2028b\nrest'), 'latin1'), [
    [0, 'a\r'],
    [3, ''],
    [4, Buffer.from('\u2028b').toString('latin1')],
  ])
  t.equal(framer.pending, 4)
  t.same(linesOf(framer, END), [[9, 'rest']])
  t.equal(framer.pending, 0)
})

t.test('framer - gives the same lines however the bytes are cut, also through a character', async t => {
  const prng = new Prng(seedOfRun())
  const whole = Buffer.from('first\n\nsecond é😀\n\r\nlast one\nunfinished 😀')
  const expected = linesOf(new LineFramer(), whole, 'latin1')
  for (let run = 0; run < 500; run++) {
    const framer = new LineFramer()
    const got: unknown[] = []
    const chunk = Buffer.alloc(whole.length)
    for (let at = 0; at < whole.length; ) {
      const size = Math.min(1 + prng.int(9), whole.length - at)
      whole.copy(chunk, 0, at, at + size)
      got.push(...linesOf(framer, chunk.subarray(0, size), 'latin1'))
      chunk.fill(0)
      at += size
    }
    if (JSON.stringify(got) !== JSON.stringify(expected))
      t.same(got, expected, `seed ${prng.seed}, run ${run}`)
    if (linesOf(framer, END)[0]?.[1] !== 'unfinished 😀') t.fail(`pending, run ${run}`)
  }
  t.pass('500 ways to cut')
})

t.test('framer - drops a line longer than 16 MiB without holding it, and goes on, JF-26', async t => {
  const framer = new LineFramer()
  const mebibyte = Buffer.alloc(1_048_576, 0x78)
  const longest = (): void => {
    for (let i = 0; i < 16; i++) t.same(linesOf(framer, mebibyte), [])
  }
  longest()
  t.equal(linesOf(framer, END)[0]?.[1].length, 16_777_216, 'as long as a line may be')
  longest()
  t.same(linesOf(framer, Buffer.from('y')), [])
  t.equal(framer.pending, 16_777_217)
  t.same(linesOf(framer, END), [[16_777_217, 'too long: 16777217']], 'one byte more and it is let go')
  longest()
  t.same(linesOf(framer, mebibyte), [])
  t.same(linesOf(framer, Buffer.from('\nnext\n')), [
    [33_554_435, 'too long: 17825792'],
    [51_380_228, 'next'],
  ])
})
