import { listSegments, type SegmentSource, segmentChunks } from './listing.js'
import type { JournalOptions } from './options.js'
import { SegmentScan } from './segment-scan.js'
import { makeStore } from './session.js'
import type { Store } from './store.js'

/** Which records are exported. */
export interface ExportOptions extends Pick<JournalOptions, 'storeDir' | 'fs' | 'host' | 'log'> {
  /** First and last number, both included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Only records of these; all if none is named. */
  readonly agents?: readonly string[] | undefined
  readonly itemType?: string | undefined
}

/**
 * The records of a store as the lines they are, each with its `\n`, in file order: live and archived segments,
 * only what has an effect. It takes no lock; a producer may go on meanwhile.
 */
export function* exportRecords(options: ExportOptions): Generator<Buffer> {
  const store = makeStore(options)
  const from = options.from ?? 1
  const to = options.to ?? Number.POSITIVE_INFINITY
  const agents = options.agents ?? []
  const segments = listSegments(store)
  for (const [at, source] of segments.entries()) {
    const next = segments[at + 1]
    // A segment's numbers lie between its name and the next one's.
    if (source.number > to || (next !== undefined && next.number <= from)) continue
    const lines: Buffer[] = []
    const scan = new SegmentScan({
      effective: ({ record, bytes }) => {
        if (record.seq < from || record.seq > to) return
        if (agents.length > 0 && !agents.includes(record.agent ?? '')) return
        if (options.itemType !== undefined && record.item_type !== options.itemType) return
        lines.push(Buffer.concat([bytes, Buffer.from('\n')]))
      },
    })
    for (const chunk of segmentChunks(store, wherever(store, source))) {
      scan.push(chunk)
      yield* lines.splice(0)
    }
  }
}

/** Where a segment stands now: a running producer may have parked it since it was listed. */
function wherever(store: Store, source: SegmentSource): SegmentSource {
  if (store.disk.look(source.path) !== undefined) return source
  return listSegments(store).find(({ number }) => number === source.number) ?? source
}
