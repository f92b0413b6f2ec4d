import { crc32 } from 'node:zlib'

// Compressors differ between versions and processors, vectors must not: these streams are laid out by hand.

/** A gzip stream that stores its bytes as they are. */
export function gzipStored(content: Uint8Array): Uint8Array {
  const blocks: Uint8Array[] = []
  for (let at = 0; at === 0 || at < content.length; at += 0xffff) {
    const part = content.subarray(at, at + 0xffff)
    const last = at + 0xffff >= content.length ? 1 : 0
    blocks.push(
      Uint8Array.of(
        last,
        part.length & 0xff,
        part.length >> 8,
        ~part.length & 0xff,
        (~part.length >> 8) & 0xff,
      ),
    )
    blocks.push(part)
  }
  return framed(Buffer.concat(blocks), content)
}

/**
 * A gzip stream of ASCII text with long runs of one character, two bits for every 258 of them. One block
 * with its own codes: 1 bit for "258 more of the last byte", 8 bits for each of the literals 0…126 and for
 * the end of the block.
 */
export function gzipRuns(content: Uint8Array): Uint8Array {
  const bits = new BitWriter()
  bits.write(1, 1)
  bits.write(2, 2)
  bits.write(286 - 257, 5)
  bits.write(0, 5)
  bits.write(18 - 4, 4)
  // Code lengths of the code lengths, in their fixed order: 8 takes one bit, 0 and 1 take two.
  for (const symbol of [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1]) {
    bits.write(symbol === 8 ? 1 : symbol === 0 || symbol === 1 ? 2 : 0, 3)
  }
  const lengthOf = (symbol: number): number => (symbol === 285 ? 1 : symbol < 127 || symbol === 256 ? 8 : 0)
  for (let symbol = 0; symbol < 286; symbol++) writeLength(bits, lengthOf(symbol))
  writeLength(bits, 1)
  let at = 0
  while (at < content.length) {
    let run = 0
    while (at > 0 && run < 258 && content[at + run] === content[at - 1]) run += 1
    if (run === 258) {
      bits.writeCode(0b0, 1)
      bits.writeCode(0b0, 1)
      at += 258
    } else {
      bits.writeCode(0x80 + (content[at] ?? 0), 8)
      at += 1
    }
  }
  bits.writeCode(0xff, 8)
  return framed(bits.finish(), content)
}

function writeLength(bits: BitWriter, length: number): void {
  if (length === 8) bits.writeCode(0b0, 1)
  else bits.writeCode(length === 0 ? 0b10 : 0b11, 2)
}

function framed(deflated: Uint8Array, content: Uint8Array): Uint8Array {
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(content), 0)
  trailer.writeUInt32LE(content.length, 4)
  return Buffer.concat([Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff), deflated, trailer])
}

class BitWriter {
  private readonly out: number[] = []
  private current = 0
  private used = 0

  /** A number, least significant bit first. */
  write(value: number, count: number): void {
    for (let bit = 0; bit < count; bit++) this.push((value >> bit) & 1)
  }

  /** A Huffman code, most significant bit first. */
  writeCode(code: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit--) this.push((code >> bit) & 1)
  }

  finish(): Uint8Array {
    while (this.used !== 0) this.push(0)
    return Uint8Array.from(this.out)
  }

  private push(bit: number): void {
    this.current |= bit << this.used
    this.used += 1
    if (this.used < 8) return
    this.out.push(this.current)
    this.current = 0
    this.used = 0
  }
}
