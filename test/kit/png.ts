/** Pictures as browsers write them, and how far two of them differ. No more of PNG than that takes. */
import { inflateSync } from 'node:zlib'

/** A picture: four bytes a pixel, row by row. */
export interface Picture {
  readonly width: number
  readonly height: number
  readonly rgba: Uint8Array
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Bytes a pixel, by the colour types that a browser writes: RGB and RGBA. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 }

/** Reads a PNG of eight bits a channel that is not interlaced. */
export function decodePng(file: Buffer): Picture {
  if (!file.subarray(0, 8).equals(SIGNATURE)) throw new RangeError('this is no PNG')
  let header: Buffer | undefined
  const packed: Buffer[] = []
  for (let at = 8; at + 8 <= file.length; ) {
    const length = file.readUInt32BE(at)
    const type = file.toString('latin1', at + 4, at + 8)
    const data = file.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') header = data
    if (type === 'IDAT') packed.push(data)
    at += length + 12
  }
  if (header === undefined) throw new RangeError('a PNG without a header')
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [depth, colour = 0, , , interlace] = header.subarray(8)
  const channels = CHANNELS[colour]
  if (depth !== 8 || channels === undefined || interlace !== 0)
    throw new RangeError(
      `a PNG of depth ${depth}, colour type ${colour}, interlace ${interlace} is not read here`,
    )
  const rows = unfiltered(inflateSync(Buffer.concat(packed)), width * channels, height, channels)
  const rgba = new Uint8Array(width * height * 4).fill(255)
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let channel = 0; channel < channels; channel++)
      rgba[pixel * 4 + channel] = rows[pixel * channels + channel] ?? 0
  return { width, height, rgba }
}

/** Takes back what each row's filter did to it. */
function unfiltered(packed: Buffer, stride: number, height: number, step: number): Uint8Array {
  if (packed.length !== (stride + 1) * height) throw new RangeError('a PNG with too few rows, or too many')
  const out = new Uint8Array(stride * height)
  for (let y = 0; y < height; y++) {
    const filter = packed[y * (stride + 1)] ?? 0
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x
      const left = x < step ? 0 : (out[at - step] ?? 0)
      const above = y === 0 ? 0 : (out[at - stride] ?? 0)
      const corner = x < step || y === 0 ? 0 : (out[at - stride - step] ?? 0)
      out[at] = (packed[y * (stride + 1) + 1 + x] ?? 0) + predicted(filter, left, above, corner)
    }
  }
  return out
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  switch (filter) {
    case 0:
      return 0
    case 1:
      return left
    case 2:
      return above
    case 3:
      return (left + above) >> 1
    case 4: {
      const guess = left + above - corner
      const [a, b, c] = [left, above, corner].map(value => Math.abs(guess - value)) as [
        number,
        number,
        number,
      ]
      return a <= b && a <= c ? left : b <= c ? above : corner
    }
    default:
      throw new RangeError(`a PNG has no filter ${filter}`)
  }
}

/** A pixel is another one if a channel differs by more than this, of 255: less is how smooth an edge was drawn. */
const CHANNEL_STEP = 24

/** A part of a picture, in pixels. */
export interface Part {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The share of pixels that differ, in a part or in the whole, from 0 to 1; pictures of two sizes differ everywhere. */
export function pictureDifference(a: Picture, b: Picture, part: Part = { x: 0, y: 0, ...a }): number {
  if (a.width !== b.width || a.height !== b.height) return 1
  const { x, y, width, height } = part
  let differing = 0
  for (let row = y; row < y + height; row++)
    for (let column = x; column < x + width; column++)
      if (isOther(a.rgba, b.rgba, (row * a.width + column) * 4)) differing++
  return differing / (width * height)
}

function isOther(a: Uint8Array, b: Uint8Array, at: number): boolean {
  for (let i = at; i < at + 4; i++) if (Math.abs((a[i] ?? 0) - (b[i] ?? 0)) > CHANNEL_STEP) return true
  return false
}
