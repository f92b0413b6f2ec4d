/** How a person or an agent names one record, and the search for it. */
import { safeText } from '@kim/cli-kit'
import { type MalformedLine, readSegment } from '@kim/manifest'
import { idOf, type JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import { type JournalHistory, openSegment } from '@kim/observer-sdk/history'

/** How a person or an agent names one record. */
export type EventRef =
  | { readonly kind: 'seq'; readonly seq: number }
  /** `river:new:246`: the announcement of one message. */
  | { readonly kind: 'message'; readonly persona: string; readonly id: number; readonly text: string }
  /** `river:alert:9f3c…-18342`: any other event; the seq stands in it. */
  | { readonly kind: 'event'; readonly seq: number; readonly text: string }

/** Reads a seq or an event id. A persona may contain colons, so an id is read from its end. */
export function parseEventRef(text: string): EventRef | undefined {
  if (/^\d+$/.test(text)) return isSeq(Number(text)) ? { kind: 'seq', seq: Number(text) } : undefined
  const message = /^(.+):new:(-?\d+)$/su.exec(text)
  if (message !== null) {
    const id = Number(message[2])
    return Number.isSafeInteger(id) ? { kind: 'message', persona: message[1] ?? '', id, text } : undefined
  }
  const event = /^.+:[^:]+:[0-9a-f]{16}-(\d+)$/su.exec(text)
  const seq = Number(event?.[1])
  return isSeq(seq) ? { kind: 'event', seq, text } : undefined
}

function isSeq(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0
}

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
export function findRecord(past: JournalHistory, ref: EventRef, facts: JournalFacts): RecordSearchResult {
  return ref.kind === 'message' ? findMessage(past, ref, facts) : findSeq(past, ref, facts)
}

function findSeq(
  past: JournalHistory,
  ref: Extract<EventRef, { seq: number }>,
  facts: JournalFacts,
): RecordSearchResult {
  const home = past.segmentOf(ref.seq)
  // A record is in another segment only if seqs do not ascend, which no writer of ours does.
  const homes = home === undefined ? past.segments : [home, ...past.segments.filter(other => other !== home)]
  for (const segment of homes) {
    const matches: JournalLine[] = []
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
  past: JournalHistory,
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
