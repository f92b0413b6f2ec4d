import { limits } from '@kim/manifest'
import type { FileContent } from '../../../store/file-content.js'

/** Bytes read at a time: the last few records of a journal are in the first such piece. */
const PIECE_BYTES = 64 * 1024

/** A terminated line and where it stands. */
export interface PlacedLine {
  readonly offset: number
  /** Without its `\n`; undefined if it is too long to be one that counts. */
  readonly bytes: Buffer | undefined
}

/**
 * The terminated lines of a file, last one first. A command that wants ten of them reads the end of the file,
 * whatever its length. An unterminated last line is not given out.
 */
export function* linesBackwards(content: Pick<FileContent, 'bytes' | 'read'>): Generator<PlacedLine> {
  /** Pieces of the line whose start is not found yet, last one first; undefined before the last `\n`. */
  let held: Buffer[] | undefined
  let heldBytes = 0
  let end = content.bytes
  while (end > 0) {
    const from = Math.max(0, end - PIECE_BYTES)
    const piece = content.read(from, end - from)
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
