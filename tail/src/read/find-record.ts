/** The search for one record that a person or an agent names. */
import { type RecordName, safeText } from '@kim/cli-kit'
import { type MalformedLine, readSegment } from '@kim/manifest'
import { idOf, type JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import { type JournalHistory, openSegment } from '@kim/observer-sdk/history'

/** The result of a search for one record. */
export type RecordSearchResult =
  | { readonly kind: 'record'; readonly entry: JournalLine; readonly others: number }
  /** A damaged line that seems to hold the record. */
  | { readonly kind: 'corrupt'; readonly segment: string; readonly offset: number; readonly reason: string }
  | { readonly kind: 'absent' }

/** Why a record was not found, as far as the journal tells: what an error says as its hint. */
export function whyAbsent(past: JournalHistory, found: RecordSearchResult): { readonly hint?: string } {
  if (found.kind === 'corrupt')
    return { hint: `its line at byte ${found.offset} of ${safeText(found.segment)} is ${found.reason}` }
  const [failure] = past.failures
  return failure === undefined
    ? {}
    : { hint: `it may be in ${safeText(failure.path)}, which cannot be read (${failure.code})` }
}

/** Finds a record by seq or event id. Of several records with one seq, the last one counts. */
export function findRecord(past: JournalHistory, name: RecordName, facts: JournalFacts): RecordSearchResult {
  return name.kind === 'message' ? findMessage(past, name, facts) : findSeq(past, name, facts)
}

function findSeq(
  past: JournalHistory,
  name: Extract<RecordName, { seq: number }>,
  facts: JournalFacts,
): RecordSearchResult {
  const home = past.segmentOf(name.seq)
  // A record is in another segment only if seqs do not ascend, which no writer of ours does.
  const homes = home === undefined ? past.segments : [home, ...past.segments.filter(other => other !== home)]
  for (const segment of homes) {
    const matches: JournalLine[] = []
    for (const entry of past.segment(segment)) {
      if (entry.record.seq === name.seq && (name.kind === 'seq' || idOf(entry.record, facts) === name.text))
        matches.push(entry)
    }
    const last = matches.at(-1)
    if (last !== undefined) return { kind: 'record', entry: last, others: matches.length - 1 }
    if (segment === home) {
      const corrupt = findCorrupt(past, segment.number, name.seq)
      if (corrupt !== undefined) return corrupt
    }
  }
  return { kind: 'absent' }
}

function findMessage(
  past: JournalHistory,
  name: Extract<RecordName, { kind: 'message' }>,
  facts: JournalFacts,
): RecordSearchResult {
  const needle = Buffer.from(`/${name.id}"`)
  // In JSON the slash may be escaped; then any line may be the one.
  const seems = (line: Buffer): boolean =>
    line.includes(needle) || line.includes('\\') || line.includes('"tx"')
  for (const entry of past.backwards(seems)) {
    const { record } = entry
    if (record.item_type !== 'message' || record.item_id !== `${name.persona}/${name.id}`) continue
    const announced = record.event === 'new' && idOf(record, facts) === `${name.persona}:new:${name.id}`
    if (announced || record.action === 'create' || record.action === 'backfill')
      return { kind: 'record', entry, others: 0 }
  }
  return { kind: 'absent' }
}

/** A damaged line that seems to have this seq. */
function findCorrupt(past: JournalHistory, segment: number, seq: number): RecordSearchResult | undefined {
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
