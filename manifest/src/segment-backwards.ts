/** The one reader, from the end of a segment to its start: for commands that want the newest records only. */
import { Buffer } from 'node:buffer'
import { limits } from './limits.js'
import { type Decoded, decodeLine, type ReadRecord } from './record.js'
import { SegmentLine } from './segment-reader.js'

/** A segment whose bytes can be read from any place. */
export interface BackwardSource {
  readonly bytes: number
  /** Up to `length` bytes from `position` on. */
  read(position: number, length: number): Buffer
}

/** Bytes read at a time: the last few records of a journal are in the first such piece. */
const PIECE_BYTES = 64 * 1024

/** A terminated line and where it begins. */
interface PlacedLine {
  readonly offset: number
  /** Without its `\n`; undefined if it is too long to be a record. */
  readonly bytes: Buffer | undefined
}

/**
 * The records of a segment that have an effect, the last one first. Of lines that repeat each other byte for byte only
 * the last one is returned.
 *
 * `wanted` may say that a line need not be looked at; it must not say so of a line that could carry `tx`.
 */
export function* recordsBackwards(
  source: BackwardSource,
  wanted: (line: Buffer) => boolean = () => true,
): Generator<SegmentLine> {
  const seen = new Set<string>()
  for (const line of releaseBackwards(linesBackwards(source), wanted)) {
    const mark = `${line.record.seq} ${line.mark}`
    if (seen.has(mark)) continue
    seen.add(mark)
    yield line
  }
}

/** The number on the last line of a segment that has one, whether or not that line has an effect. */
export function lastSeqOf(source: BackwardSource): number | undefined {
  for (const line of linesBackwards(source)) {
    const decoded = decode(line)
    if (decoded?.kind === 'record') return decoded.record.seq
    if (decoded?.kind === 'future' && decoded.seq !== undefined) return decoded.seq
  }
  return undefined
}

/**
 * Whether `offset` is the end of a line, and the highest seq before it is `peak`. The last line before it may have a
 * lower seq, where lines repeat earlier ones.
 */
export function isPeakBefore(source: BackwardSource, offset: number, peak: number): boolean {
  const before = { bytes: offset, read: source.read.bind(source) }
  if (offset > 0 && before.read(offset - 1, 1)[0] !== 0x0a) return false
  for (const line of linesBackwards(before)) {
    const decoded = decode(line)
    if (decoded?.kind === 'record' && decoded.record.seq >= peak) return decoded.record.seq === peak
  }
  return peak === 0
}

/**
 * The records that have an effect, in reverse order. A record of a transaction has an effect only with its whole run,
 * so a run is gathered from its last line; anything else that carries `tx` has none.
 */
function* releaseBackwards(
  lines: Iterable<PlacedLine>,
  wanted: (line: Buffer) => boolean,
): Generator<SegmentLine> {
  const source = lines[Symbol.iterator]()
  let put: PlacedLine | undefined
  const next = (): PlacedLine | undefined => {
    const back = put
    put = undefined
    return back ?? (source.next().value as PlacedLine | undefined)
  }
  for (let line = next(); line !== undefined; line = next()) {
    if (line.bytes === undefined || !wanted(line.bytes)) continue
    const entry = lineOf(line)
    const tx = entry?.record.tx
    if (entry === undefined || tx === 'malformed') continue
    if (tx === undefined) {
      yield entry
    } else if (tx.i === tx.n) {
      const run = [entry]
      while (run.length < tx.n) {
        const before = nextNonBlank(next)
        const found = before && lineOf(before)
        if (found === undefined || !precedes(found.record, run.at(-1)?.record)) {
          put = before
          break
        }
        run.push(found)
      }
      if (run.length === tx.n) yield* run
    }
  }
}

function nextNonBlank(next: () => PlacedLine | undefined): PlacedLine | undefined {
  for (let line = next(); line !== undefined; line = next()) {
    if (decode(line)?.kind !== 'blank') return line
  }
  return undefined
}

function precedes(record: ReadRecord, after: ReadRecord | undefined): boolean {
  const { tx } = record
  const next = after?.tx
  if (typeof tx !== 'object' || typeof next !== 'object') return false
  return tx.id === next.id && tx.n === next.n && tx.i === next.i - 1 && record.writer === after?.writer
}

function lineOf(line: PlacedLine): SegmentLine | undefined {
  const decoded = decode(line)
  if (decoded?.kind !== 'record' || line.bytes === undefined) return undefined
  return new SegmentLine(decoded, line.offset, line.bytes, 0, line.bytes.length)
}

function decode({ bytes, offset }: PlacedLine): Decoded | undefined {
  return bytes && decodeLine(bytes, offset === 0)
}

/** The terminated lines of a file, the last one first, read piece by piece. */
function* linesBackwards(source: BackwardSource): Generator<PlacedLine> {
  /** Pieces of the line whose start is not found yet, the last one first; undefined before the last `\n`. */
  let held: Buffer[] | undefined
  let heldBytes = 0
  let end = source.bytes
  while (end > 0) {
    const from = Math.max(0, end - PIECE_BYTES)
    const piece = source.read(from, end - from)
    let to = piece.length
    for (let at = piece.lastIndexOf(0x0a); at !== -1; at = at === 0 ? -1 : piece.lastIndexOf(0x0a, at - 1)) {
      if (held !== undefined) yield placed(from + at + 1, piece.subarray(at + 1, to), held, heldBytes)
      held = []
      heldBytes = 0
      to = at
    }
    if (held !== undefined) {
      heldBytes += to
      if (heldBytes > limits.lineReadBytesMax) held = []
      else held.push(piece.subarray(0, to))
    }
    end = from
  }
  if (held !== undefined) yield placed(0, Buffer.alloc(0), held, heldBytes)
}

function placed(offset: number, head: Buffer, held: readonly Buffer[], heldBytes: number): PlacedLine {
  if (head.length + heldBytes > limits.lineReadBytesMax) return { offset, bytes: undefined }
  return { offset, bytes: held.length === 0 ? head : Buffer.concat([head, ...held.toReversed()]) }
}
