import t from 'tap'
import { type FramedLine, LineFramer } from '../dist/checkpoint-reader.js'
import { Prng, seedOfRun } from './kit/prng.js'

const textOf = ({ bytes, length }: FramedLine): string =>
  bytes === undefined ? `too long: ${length}` : Buffer.from(bytes).toString('latin1')

t.test('framer - cuts at 0x0A alone and says where each line begins', async t => {
  const framer = new LineFramer()
  const lines = framer.push(Buffer.from('a\r\n\n\u2028b\nrest'))
  t.same(lines.map(textOf), ['a\r', '', Buffer.from('\u2028b').toString('latin1')])
  t.same(
    lines.map(({ offset }) => offset),
    [0, 3, 4],
  )
  t.equal(framer.pending, 4)
  t.same(framer.push(Buffer.from('\n')).map(textOf), ['rest'])
  t.equal(framer.pending, 0)
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
    const rest = framer.push(Buffer.from('\n')).map(({ bytes }) => Buffer.from(bytes ?? []).toString())
    if (rest.join() !== 'unfinished 😀') t.fail(`pending, run ${run}`)
  }
  t.pass('500 ways to cut')
})

t.test('framer - drops a line longer than 16 MiB without holding it, and goes on, JF-26', async t => {
  const framer = new LineFramer()
  const mebibyte = Buffer.alloc(1_048_576, 0x78)
  const longest = (): void => {
    for (let i = 0; i < 16; i++) t.same(framer.push(mebibyte), [])
  }
  longest()
  t.equal(framer.push(Buffer.from('\n'))[0]?.bytes?.length, 16_777_216, 'as long as a line may be')
  longest()
  framer.push(Buffer.from('y'))
  t.equal(framer.pending, 16_777_217)
  t.same(
    framer.push(Buffer.from('\n')),
    [{ offset: 16_777_217, length: 16_777_217, bytes: undefined }],
    'one byte more and it is let go',
  )
  longest()
  framer.push(mebibyte)
  t.same(framer.push(Buffer.from('\nnext\n')), [
    { offset: 33_554_435, length: 17_825_792, bytes: undefined },
    { offset: 51_380_228, length: 4, bytes: Buffer.from('next') },
  ])
})
