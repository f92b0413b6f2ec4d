/** The little of ustar that a bundle needs. */

const BLOCK = 512
/** Eleven octal digits. */
const SIZE_MAX = 8 ** 11 - 1

/** What stands before a file's bytes. */
export interface TarEntry {
  readonly path: string
  readonly size: number
}

/** The block before a file: without an owner's name, readable by its owner, with the time that is passed. */
export function tarHeader({ path, size }: TarEntry, mtimeSeconds: number): Buffer | undefined {
  const name = Buffer.from(path)
  if (name.length > 100 || size > SIZE_MAX) return undefined
  const block = Buffer.alloc(BLOCK)
  name.copy(block, 0)
  const number = (value: number, at: number, digits: number): void => {
    block.write(`${Math.max(0, Math.floor(value)).toString(8).padStart(digits, '0')}\0`, at, 'latin1')
  }
  number(0o600, 100, 7)
  number(0, 108, 7)
  number(0, 116, 7)
  number(size, 124, 11)
  number(Math.min(mtimeSeconds, SIZE_MAX), 136, 11)
  block.write('        ', 148, 'latin1')
  block.write('0', 156, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}

/** What follows a file's bytes up to the next block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
}

/** The end of an archive. */
export const tarEnd: Buffer = Buffer.alloc(2 * BLOCK)

/** What a reader of an archive gets. */
export interface TarSink {
  begin(entry: TarEntry): void
  chunk(bytes: Buffer): void
  end(): void
}

/** Reads an archive as it streams in; says what is wrong with it, if anything is. */
export async function readTar(chunks: AsyncIterable<Buffer>, sink: TarSink): Promise<string | undefined> {
  let header = Buffer.alloc(0)
  let left = 0
  let padding = 0
  let isOver = false
  for await (const chunk of chunks) {
    let at = 0
    if (isOver && chunk.some(byte => byte !== 0)) return 'the archive has data after its end'
    while (at < chunk.length && !isOver) {
      if (left > 0) {
        const part = chunk.subarray(at, at + left)
        sink.chunk(part)
        at += part.length
        left -= part.length
        if (left === 0) sink.end()
      } else if (padding > 0) {
        const step = Math.min(padding, chunk.length - at)
        at += step
        padding -= step
      } else {
        const part = chunk.subarray(at, at + BLOCK - header.length)
        header = Buffer.concat([header, part])
        at += part.length
        if (header.length < BLOCK) continue
        if (header.every(byte => byte === 0)) {
          isOver = true
          if (chunk.subarray(at).some(byte => byte !== 0)) return 'the archive has data after its end'
          continue
        }
        const entry = entryIn(header)
        if (typeof entry === 'string') return entry
        header = Buffer.alloc(0)
        left = entry.size
        padding = (BLOCK - (left % BLOCK)) % BLOCK
        sink.begin(entry)
        if (left === 0) sink.end()
      }
    }
  }
  return isOver ? undefined : 'the archive is cut short'
}

function entryIn(block: Buffer): TarEntry | string {
  const field = (at: number, length: number): string =>
    block.toString('latin1', at, at + length).replace(/[\0 ]+$/, '')
  if (field(257, 5) !== 'ustar') return 'this is not a ustar archive'
  if (Number.parseInt(field(148, 8), 8) !== checksum(block)) return 'the header of a file is damaged'
  // A program that unpacks it would put the file below that.
  if (field(345, 155) !== '') return 'a path is stored in two fields, which kim-replay bundle never does'
  const size = field(124, 12)
  if (!/^[0-7]{1,11}$/.test(size)) return 'a file has no valid size'
  if (field(156, 1) !== '0' && field(156, 1) !== '') return 'it holds an entry that is not a file'
  const end = block.indexOf(0)
  return { path: block.toString('utf8', 0, end < 0 || end > 100 ? 100 : end), size: Number.parseInt(size, 8) }
}

/** The sum of a header's bytes, its own field counted as spaces. */
function checksum(block: Buffer): number {
  let sum = 0
  for (let at = 0; at < BLOCK; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (block[at] ?? 0)
  return sum
}
