import { openSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { parseSegmentName } from '@kim/manifest'
import { type FileSystem, nodeFileSystem, openFlags } from '@kim/producer/internal'
import { nowMs } from './latency.js'

/** One write to a segment: its last record, and the moments before it went to the mirror and to the segment. */
export type SegmentWrite = readonly [seq: number, mirroredMs: number, writtenMs: number]

/** Notes when each line is written to a segment; into the mirror, if there is one, goes the same a moment before. */
export class SegmentWrites {
  readonly writes: SegmentWrite[] = []
  readonly #mirror: number | undefined
  readonly #segments = new Set<number>()

  constructor(mirror?: string) {
    this.#mirror = mirror === undefined ? undefined : openSync(mirror, 'a')
  }

  get fileSystem(): FileSystem {
    return {
      ...nodeFileSystem,
      openSync: (path, flags, mode) => {
        const fd = nodeFileSystem.openSync(path, flags, mode)
        const isAppended = (flags & openFlags.append) === openFlags.append
        if (isAppended && parseSegmentName(basename(path)) !== undefined) this.#segments.add(fd)
        else this.#segments.delete(fd)
        return fd
      },
      writeSync: (fd, buffer, offset, length) => {
        if (!this.#segments.has(fd)) return nodeFileSystem.writeSync(fd, buffer, offset, length)
        const bytes = Buffer.from(buffer.buffer, buffer.byteOffset + offset, length)
        const lastLine = bytes.subarray(bytes.lastIndexOf('\n', bytes.length - 2) + 1)
        const { seq } = JSON.parse(lastLine.toString()) as { seq: number }
        const mirroredMs = nowMs()
        if (this.#mirror !== undefined) writeSync(this.#mirror, bytes)
        const writtenMs = nowMs()
        this.writes.push([seq, mirroredMs, writtenMs])
        return nodeFileSystem.writeSync(fd, buffer, offset, length)
      },
    }
  }
}
