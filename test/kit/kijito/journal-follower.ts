import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { parseSegmentName, type ReadRecord, recordOf } from '@kim/manifest'

/** The records of a store as they come in, each handed over once: what waits for a record need not read all of them. */
export class JournalFollower {
  readonly #events: string
  readonly #read = new Map<string, number>()

  constructor(storeDir: string) {
    this.#events = join(storeDir, 'events')
  }

  /** What came in since the last call, in file order. */
  news(): ReadRecord[] {
    let names: string[]
    try {
      names = readdirSync(this.#events).filter(name => parseSegmentName(name) !== undefined)
    } catch {
      return []
    }
    return names.sort().flatMap(name => this.#newsOf(name))
  }

  #newsOf(name: string): ReadRecord[] {
    const start = this.#read.get(name) ?? 0
    const bytes = bytesFrom(join(this.#events, name), start)
    const records: ReadRecord[] = []
    let from = 0
    for (let to = bytes.indexOf(10); to !== -1; to = bytes.indexOf(10, from)) {
      const record = recordOf(bytes.subarray(from, to), start + from === 0)
      from = to + 1
      if (record !== undefined) records.push(record)
    }
    this.#read.set(name, start + from)
    return records
  }
}

function bytesFrom(path: string, start: number): Buffer {
  const fd = openSync(path, 'r')
  try {
    const size = fstatSync(fd).size
    const bytes = Buffer.alloc(Math.max(0, size - start))
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, start))
  } finally {
    closeSync(fd)
  }
}
