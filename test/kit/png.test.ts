import { deflateSync } from 'node:zlib'
import t from 'tap'
import { decodePng, pictureDifference } from './png.js'
import { Prng } from './prng.js'

function chunk(type: string, data: Uint8Array): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(data.length)
  head.write(type, 4, 'latin1')
  // Nobody here reads the checksum.
  return Buffer.concat([head, data, Buffer.alloc(4)])
}

/** Writes a PNG, each row with the filter that is asked for. */
function encode(
  width: number,
  height: number,
  channels: 3 | 4,
  bytes: Uint8Array,
  filters: number[],
): Buffer {
  const stride = width * channels
  const rows: number[] = []
  for (let y = 0; y < height; y++) {
    const filter = filters[y % filters.length] ?? 0
    rows.push(filter)
    for (let x = 0; x < stride; x++) {
      const at = (dx: number, dy: number): number =>
        x - dx < 0 || y - dy < 0 ? 0 : (bytes[(y - dy) * stride + x - dx] ?? 0)
      const [a, b, c] = [at(channels, 0), at(0, 1), at(channels, 1)]
      const guess = [0, a, b, Math.floor((a + b) / 2), paeth(a, b, c)][filter] ?? 0
      rows.push((at(0, 0) - guess) & 255)
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set([8, channels === 3 ? 2 : 6], 8)
  const packed = deflateSync(Buffer.from(rows))
  // In two pieces, as writers may.
  const pieces = [packed.subarray(0, 5), packed.subarray(5)].map(piece => chunk('IDAT', piece))
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([signature, chunk('IHDR', header), ...pieces, chunk('IEND', new Uint8Array(0))])
}

function paeth(a: number, b: number, c: number): number {
  const guess = a + b - c
  let best = a
  for (const value of [b, c]) if (Math.abs(guess - value) < Math.abs(guess - best)) best = value
  return best
}

t.test('png - every filter of both colour types is read', async t => {
  const random = new Prng(3)
  for (const channels of [3, 4] as const) {
    const bytes = Uint8Array.from({ length: 7 * 10 * channels }, () => random.int(256))
    const { width, height, rgba } = decodePng(encode(7, 10, channels, bytes, [0, 1, 2, 3, 4]))
    t.same([width, height], [7, 10])
    const wanted = Array.from({ length: 70 }, (_, pixel) => [
      ...bytes.subarray(pixel * channels, pixel * channels + channels),
      ...(channels === 3 ? [255] : []),
    ]).flat()
    t.same([...rgba], wanted)
  }
  t.throws(() => decodePng(Buffer.from('GIF89a  ')), /no PNG/)
})

t.test('png - a difference is the share of the pixels that differ by more than a step', async t => {
  const grey = (value: number, at?: number): ReturnType<typeof decodePng> => {
    const bytes = new Uint8Array(10 * 10 * 3).fill(100)
    if (at !== undefined) bytes[at] = value
    return decodePng(encode(10, 10, 3, bytes, [1]))
  }
  t.equal(pictureDifference(grey(100), grey(100)), 0)
  t.equal(pictureDifference(grey(100), grey(124, 31)), 0)
  t.equal(pictureDifference(grey(100), grey(125, 31)), 0.01)
  t.equal(pictureDifference(grey(100), grey(75, 31)), 0.01)
  t.equal(pictureDifference(grey(100), grey(0, 31), { x: 0, y: 1, width: 5, height: 2 }), 0.1)
  t.equal(pictureDifference(grey(100), grey(0, 31), { x: 1, y: 1, width: 5, height: 2 }), 0)
  const other = decodePng(encode(5, 20, 3, new Uint8Array(300).fill(100), [0]))
  t.equal(pictureDifference(grey(100), other), 1)
})
