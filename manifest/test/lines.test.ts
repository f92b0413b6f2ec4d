import t from 'tap'
import { type FramedLine, LineFramer } from '../dist/lines.js'
import { Prng, seedOfRun } from './kit/prng.js'

const textOf = (line: FramedLine): string =>
  line.kind === 'line' ? Buffer.from(line.bytes).toString('latin1') : `too long: ${line.length}`

t.test('framer - cuts at 0x0A alone and says where each line begins', async t => {
  const framer = new LineFramer()
  const lines = framer.push(Buffer.from('a\r\n\n\u2028b\nrest'))
  t.same(lines.map(textOf), ['a\r', '', Buffer.from('\u2028b').toString('latin1')])
  t.same(
    lines.map(({ offset }) => offset),
    [0, 3, 4],
  )
  t.same(
    lines.map(line => line.kind === 'line' && line.atFileStart),
    [true, false, false],
  )
  t.match(framer.pending, { offset: 9, length: 4 })
  t.equal(Buffer.from(framer.pending.bytes ?? []).toString(), 'rest')
})

t.test('framer - goes on at an offset, where no file starts', async t => {
  const framer = new LineFramer(100)
  t.match(framer.push(Buffer.from('x\n')), [{ offset: 100, atFileStart: false }])
  t.match(framer.pending, { offset: 102, length: 0 })
})

t.test('framer - gives the same lines however the bytes are cut, also through a character', async t => {
  const prng = new Prng(seedOfRun())
  const whole = Buffer.from('first\n\nsecond é😀\n\r\nlast one\nunfinished 😀')
  const expected = new LineFramer().push(whole).map(line => [line.offset, textOf(line)])
  for (let run = 0; run < 500; run++) {
    const framer = new LineFramer()
    const got: unknown[] = []
    const chunk = Buffer.alloc(whole.length)
    for (let at = 0; at < whole.length; ) {
      const size = Math.min(1 + prng.int(9), whole.length - at)
      whole.copy(chunk, 0, at, at + size)
      got.push(...framer.push(chunk.subarray(0, size)).map(line => [line.offset, textOf(line)]))
      chunk.fill(0)
      at += size
    }
    if (JSON.stringify(got) !== JSON.stringify(expected))
      t.same(got, expected, `seed ${prng.seed}, run ${run}`)
    if (Buffer.from(framer.pending.bytes ?? []).toString() !== 'unfinished 😀') t.fail(`pending, run ${run}`)
  }
  t.pass('500 ways to cut')
})

t.test('framer - drops a line longer than 16 MiB without holding it, and goes on, JF-26', async t => {
  const framer = new LineFramer()
  const mebibyte = Buffer.alloc(1_048_576, 0x78)
  for (let i = 0; i < 16; i++) t.same(framer.push(mebibyte), [])
  t.equal(framer.pending.bytes?.length, 16_777_216, 'as long as a line may be')
  framer.push(Buffer.from('y'))
  t.same(framer.pending, { offset: 0, length: 16_777_217 }, 'one byte more and it is let go')
  framer.push(mebibyte)
  t.same(framer.push(Buffer.from('\nnext\n')), [
    { kind: 'too_long', offset: 0, length: 17_825_793 },
    { kind: 'line', bytes: Buffer.from('next'), offset: 17_825_794, atFileStart: false },
  ])
})
