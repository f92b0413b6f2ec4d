import { field, isObject, isSafe, type NaiveRecord } from './line.js'

/** Where a client had come to. */
export interface NaiveCursor {
  seq: number
  writer: string | null
}

export interface Gap {
  from: number
  reason: 'archived' | 'missing' | 'rewound'
  to: number
}

/** A cursor, undefined if there is none. What is there and is no cursor is refused: skipping is not an answer. */
export function readCursor(value: unknown): NaiveCursor | undefined {
  if (value === undefined) return undefined
  const seq = isObject(value) ? field(value, 'seq') : undefined
  if (!isObject(value) || !isSafe(seq) || seq < 0) throw new Error('the cursor file holds no cursor')
  const writer = field(value, 'writer')
  return { seq, writer: typeof writer === 'string' ? writer : null }
}

/** A record, and the number of the segment it stands in. */
export interface StoredRecord extends NaiveRecord {
  segment?: number
}

/** The records a client with this cursor is handed, and what it must be told is missing: row U of the recovery page. */
export function handOver(
  cursor: NaiveCursor,
  records: readonly StoredRecord[],
  head: number,
  firstSegment: number,
  isEndUnreadable: boolean,
): { records: readonly NaiveRecord[]; gap: Gap | null } {
  const there = records.filter(record => record.seq === cursor.seq)
  const byOthers =
    cursor.writer !== null && there.length > 0 && !there.some(one => one.writer === cursor.writer)
  // What the cursor stands for may be in what cannot be read.
  if (cursor.seq > head && isEndUnreadable) return { records: [], gap: null }
  if (cursor.seq > head || byOthers) {
    const rest = records.slice(startAfterRewind(cursor, records))
    const from = Math.min(rest[0]?.seq ?? head + 1, cursor.seq)
    return { records: rest, gap: { from, reason: 'rewound', to: cursor.seq } }
  }
  const start = records.findIndex(record => record.seq > cursor.seq)
  const first = records[start]
  const lost = first !== undefined && first.seq > cursor.seq + 1 && (first.segment ?? 0) > cursor.seq + 1
  return {
    records: start === -1 ? [] : records.slice(start),
    gap: lost
      ? {
          from: cursor.seq + 1,
          reason: first.segment === firstSegment ? 'archived' : 'missing',
          to: first.seq - 1,
        }
      : null,
  }
}

/** After the last record of the cursor's writer; else at the newest start of a producer; else everything. */
function startAfterRewind(cursor: NaiveCursor, records: readonly NaiveRecord[]): number {
  const last = cursor.writer === null ? -1 : records.findLastIndex(record => record.writer === cursor.writer)
  if (last !== -1) return last + 1
  const started = records.findLastIndex(record => noteKind(record) === 'producer_started')
  return Math.max(started, 0)
}

/** The kind of a journal note; undefined for any other record. */
export function noteKind(record: NaiveRecord): unknown {
  return record.action === 'journal_note' && record.payload !== undefined
    ? field(record.payload, 'kind')
    : undefined
}
