import { type FramedLine, LineFramer, type PendingBytes } from '@kim/manifest'
import type { FileContent } from './file-content.js'

/**
 * The terminated lines of a segment from `from`, where a line must begin; returns what stands after the last
 * `\n`. Check the content's `failure` afterwards: damage ends the lines early.
 */
export function* segmentLines(content: FileContent, from = 0): Generator<FramedLine, PendingBytes> {
  const framer = new LineFramer(from)
  for (const chunk of content.chunks({ from })) yield* framer.push(chunk)
  return framer.pending
}
