import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { parseSegmentName, type ReadRecord, SegmentReader } from '@kim/manifest'
import { openFlags } from '../effects/file-system.js'

const HEAD_BYTES = 4096

/** Whose store it is, by its genesis note: the first record of the first segment. Undefined where that is gone. */
export function recordedSource(events: string): string | undefined {
  const first = readdirSync(events).find(name => parseSegmentName(name) === 1)
  if (first === undefined) return undefined
  // A pipe in its place must hold nobody.
  const fd = openSync(join(events, first), openFlags.readOnly | openFlags.nonBlock)
  try {
    if (!fstatSync(fd).isFile()) return undefined
    const bytes = Buffer.alloc(HEAD_BYTES)
    const length = readSync(fd, bytes, 0, HEAD_BYTES, 0)
    let record: ReadRecord | undefined
    const reader = new SegmentReader({
      released(line) {
        record ??= line.record
        reader.stop()
      },
    })
    reader.push(bytes.subarray(0, length))
    const payload = record?.payload
    const source = payload?.['kind'] === 'genesis' ? payload['source'] : undefined
    return typeof source === 'string' ? source : undefined
  } finally {
    closeSync(fd)
  }
}
