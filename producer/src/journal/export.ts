import { Buffer } from 'node:buffer'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { KimError, SegmentReader } from '@kim/manifest'
import { currentHost } from '../effects/system.js'
import type { Disk } from './file-ops.js'
import { listSegmentCopies, type SegmentCopies, type SegmentFile } from './listing.js'
import { makeStore } from './store.js'

/** Which records are exported. */
export interface ExportOptions {
  readonly storeDir: string
  /** First and last number, both included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Only records of these; all if none is named. */
  readonly agents?: readonly string[] | undefined
  /** Called for each file that cannot be read to its end. Everything else is exported. */
  readonly unreadable?: ((why: string) => void) | undefined
}

/**
 * The records of a store as the lines they are, each with its `\n`, in file order: live and archived segments,
 * only what has an effect. It takes no lock, changes nothing and holds one chunk of a segment at a time, so a
 * producer may go on meanwhile, and the store may be damaged or mounted read-only.
 */
export async function* exportRecords(options: ExportOptions): AsyncGenerator<Buffer> {
  // A writer judges and tightens what it opens; who owns nothing here only reads.
  const store = makeStore({ storeDir: options.storeDir, host: { ...currentHost(), uid: undefined } })
  const { from = 1, to = Number.POSITIVE_INFINITY, agents = [], unreadable } = options
  const segments = listSegmentCopies(store)
  for (const [at, copies] of segments.entries()) {
    const { number } = copies.first
    const next = segments[at + 1]?.first.number
    // A segment's numbers lie between its name and the next one's.
    if (number > to || (next !== undefined && next <= from)) continue
    const lines: Buffer[] = []
    const reader = new SegmentReader({
      released: ({ record, bytes }) => {
        if (record.seq < from || record.seq > to) return
        if (agents.length > 0 && !agents.includes(record.agent ?? '')) return
        lines.push(Buffer.concat([bytes, Buffer.from('\n')]))
      },
    })
    // A running producer may have parked it since it was listed.
    const now = store.disk.look(copies.first.path) === undefined ? listSegmentCopies(store) : segments
    for await (const chunk of contentOf(
      store.disk,
      now.find(({ first }) => first.number === number) ?? copies,
      unreadable,
    )) {
      reader.push(chunk)
      yield* lines.splice(0)
    }
  }
}

/** The unpacked bytes of the first file of a segment that can be read (JF-7). */
async function* contentOf(
  disk: Disk,
  { first, others }: SegmentCopies,
  unreadable: ExportOptions['unreadable'],
): AsyncGenerator<Buffer> {
  for (const file of [first, ...others]) {
    let isBegun = false
    try {
      for await (const chunk of unpacked(disk, file)) {
        isBegun = true
        yield chunk
      }
      return
    } catch (error) {
      unreadable?.(whyOf(file, error))
      // Some of its records are exported already; a copy would repeat them.
      if (isBegun) return
    }
  }
}

async function* unpacked(disk: Disk, { path, isGzipped }: SegmentFile): AsyncGenerator<Buffer> {
  if (!isGzipped) {
    yield* disk.fileChunks(path)
    return
  }
  const inflate = createGunzip()
  // The pipeline only ties the two lifetimes together; the error reaches us through the iteration.
  pipeline(Readable.from(disk.fileChunks(path), { objectMode: false }), inflate, () => undefined)
  for await (const chunk of inflate) yield chunk as Buffer
}

function whyOf({ path }: SegmentFile, error: unknown): string {
  if (error instanceof KimError) return error.message
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')) {
    return `${path} is cut short: it cannot be unpacked to its end`
  }
  throw error
}
