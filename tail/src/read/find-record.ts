import { type MalformedLine, readSegment } from '@kim/manifest'
import { openSegment } from '@kim/observer-sdk/history'
import { idOf, type JournalFacts, type RecordLine } from '../record-line.js'
import type { EventRef } from '../where/event-ref.js'
import type { RecordLog } from './record-log.js'

/** What was found under a name. */
export type RecordSearchResult =
  | { readonly kind: 'record'; readonly entry: RecordLine; readonly others: number }
  /** A line that seems to be the record, but is none. */
  | { readonly kind: 'corrupt'; readonly segment: string; readonly offset: number; readonly reason: string }
  | { readonly kind: 'absent' }

/** Looks a record up by seq or event id. Several records with one seq: the last one, which is the one that counts. */
export function findRecord(past: RecordLog, ref: EventRef, facts: JournalFacts): RecordSearchResult {
  return ref.kind === 'message' ? findMessage(past, ref, facts) : findSeq(past, ref, facts)
}

function findSeq(
  past: RecordLog,
  ref: Extract<EventRef, { seq: number }>,
  facts: JournalFacts,
): RecordSearchResult {
  const home = past.segmentOf(ref.seq)
  // Beyond its home a record stands only where numbers do not ascend, which no writer of ours does.
  const homes = home === undefined ? past.segments : [home, ...past.segments.filter(other => other !== home)]
  for (const segment of homes) {
    const matches: RecordLine[] = []
    for (const entry of past.segment(segment)) {
      if (entry.record.seq === ref.seq && (ref.kind === 'seq' || idOf(entry.record, facts) === ref.text))
        matches.push(entry)
    }
    const last = matches.at(-1)
    if (last !== undefined) return { kind: 'record', entry: last, others: matches.length - 1 }
    if (segment === home) {
      const corrupt = findCorrupt(past, segment.number, ref.seq)
      if (corrupt !== undefined) return corrupt
    }
  }
  return { kind: 'absent' }
}

function findMessage(
  past: RecordLog,
  ref: Extract<EventRef, { kind: 'message' }>,
  facts: JournalFacts,
): RecordSearchResult {
  const needle = Buffer.from(`/${ref.id}"`)
  // In JSON the slash may be escaped; then any line may be the one.
  const seems = (line: Buffer): boolean =>
    line.includes(needle) || line.includes('\\') || line.includes('"tx"')
  for (const entry of past.backwards(seems)) {
    const { record } = entry
    if (record.item_type !== 'message' || record.item_id !== `${ref.persona}/${ref.id}`) continue
    const announced = record.event === 'new' && idOf(record, facts) === ref.text
    if (announced || record.action === 'create' || record.action === 'backfill')
      return { kind: 'record', entry, others: 0 }
  }
  return { kind: 'absent' }
}

/** A damaged line that carries this seq, as far as can be seen without being able to read it. */
function findCorrupt(past: RecordLog, segment: number, seq: number): RecordSearchResult | undefined {
  const opened = openSegment(past.eventsDir, segment)
  if (!opened.ok) return undefined
  let found: RecordSearchResult | undefined
  try {
    readSegment(() => opened.value.chunks(), {
      malformed({ offset, reason, bytes }: MalformedLine) {
        if (found !== undefined || bytes === undefined) return
        const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
        if (!new RegExp(`"seq"\\s*:\\s*${seq}\\b`).test(text)) return
        found = { kind: 'corrupt', segment: opened.value.candidate.path, offset, reason }
      },
    })
    return found
  } finally {
    opened.value.close()
  }
}
