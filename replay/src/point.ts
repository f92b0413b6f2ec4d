/** A moment of a journal, as somebody names it, and the place in file order that this comes to. */
import {
  eventIdOf,
  nextTurn,
  type ReadRecord,
  readSegment,
  type SegmentLine,
  SegmentReader,
} from '@kim/manifest'
import type { SegmentEntry } from '@kim/observer-sdk/history'
import { type PassOptions, PassPacer } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import { type EventName, nearer } from './event-name.js'
import { type Mark, type SegmentWalker, walkLines } from './line-walk.js'
import { findMissingRecords } from './missing-records.js'
import { notFound, tooOld } from './not-found.js'
import type { Listener } from './reading.js'
import { timestampMs } from './timestamp.js'

/** A moment. */
export type Point =
  /** Before the first record above this number. */
  | { readonly kind: 'seq'; readonly seq: number }
  /** After the last record with a time not later than this. */
  | { readonly kind: 'time'; readonly ms: number; readonly text: string }
  /** When this record had its effect. */
  | { readonly kind: 'event'; readonly name: EventName }
  | { readonly kind: 'end' }

/** Where a passage ends. */
export type Stop =
  | { readonly kind: 'above'; readonly seq: number }
  /** After the line at this place; `reach` is the highest number that may lack right behind it. */
  | { readonly kind: 'after'; readonly mark: Mark; readonly reach: number }
  | { readonly kind: 'end' }

/** The place of a moment. Throws `no_record` where the journal has none such. */
export async function stopOf(journal: CopiedJournal, point: Point, options: PassOptions): Promise<Stop> {
  switch (point.kind) {
    case 'seq':
      return { kind: 'above', seq: point.seq }
    case 'end':
      return { kind: 'end' }
    case 'time':
      // What is lost behind the last record of that time may be of that time too.
      return {
        kind: 'after',
        mark: await lastNotAfter(journal, point, options),
        reach: Number.POSITIVE_INFINITY,
      }
    case 'event':
      return { kind: 'after', ...(await placeOf(journal, point.name, options)) }
  }
}

/** A reading that ends there. */
export function endingAt(stop: Stop): Pick<Listener, 'isBeyond' | 'reach'> {
  if (stop.kind === 'end') return {}
  if (stop.kind === 'above') return { isBeyond: ({ seq }) => seq > stop.seq, reach: stop.seq }
  const { mark, reach } = stop
  return {
    isBeyond: (_, segment, offset) =>
      segment > mark.segment || (segment === mark.segment && offset > mark.offset),
    reach,
  }
}

/** Segments are looked at from the newest down: the last match of the first one that has any is it. */
async function lastNotAfter(
  journal: CopiedJournal,
  { ms, text }: Extract<Point, { kind: 'time' }>,
  options: PassOptions,
): Promise<Mark> {
  const { history } = journal
  let earliest: string | undefined
  for (const { number } of history.segments.toReversed()) {
    await nextTurn(options.signal)
    const offset = history.read(number, content => {
      let last: number | undefined
      const valid = ({ record: { ts }, offset }: SegmentLine): true => {
        const at = timestampMs(ts)
        if (ts === undefined || Number.isNaN(at)) return true
        earliest = earliest === undefined || ts < earliest ? ts : earliest
        if (at <= ms) last = offset
        return true
      }
      readSegment(() => content.chunks(), { valid })
      return last
    })
    if (offset !== undefined) return { segment: number, offset }
  }
  throw tooOld(text, earliest, await findMissingRecords(journal, options))
}

interface Found {
  readonly mark: Mark
  /** The number of the record: nothing above it counts. */
  readonly reach: number
}

/** The line with which the named record had its effect, the newest if there are several. */
async function placeOf(journal: CopiedJournal, name: EventName, options: PassOptions): Promise<Found> {
  const seeker = new Seeker(journal, name)
  const pace = new PassPacer(options)
  await walkLines(journal, seeker, pace)
  if (seeker.found === undefined) throw notFound(name, seeker, await findMissingRecords(journal, options))
  return seeker.found
}

class Seeker implements SegmentWalker {
  readonly personas: Set<string> = new Set()
  found: Found | undefined
  nearest: number | undefined
  readonly #journal: CopiedJournal
  readonly #name: EventName

  constructor(journal: CopiedJournal, name: EventName) {
    this.#journal = journal
    this.#name = name
  }

  beginSegment({ number }: SegmentEntry): SegmentReader {
    // A transaction has its effect with its last line.
    let line = 0
    return new SegmentReader({
      valid({ offset }) {
        line = offset
        return true
      },
      released: ({ record }) => this.#take(record, { segment: number, offset: line }),
      repeated: ({ record }) => this.#take(record, { segment: number, offset: line }),
    })
  }

  endSegment(): void {}

  unreadable(): void {}

  #take(record: ReadRecord, mark: Mark): void {
    if (isNamed(record, this.#name, this.#journal.projectId)) this.found = { mark, reach: record.seq }
    if (record.agent !== undefined && record.item_type !== 'journal') this.personas.add(record.agent)
    this.nearest = nearer(this.#name, record, this.nearest)
  }
}

/** Whether a name is this record's. */
export function isNamed(record: ReadRecord, name: EventName, projectId: string): boolean {
  if (name.kind === 'seq') return record.seq === name.seq
  if (name.kind === 'event') return record.seq === name.seq && eventIdOf(projectId, record) === name.text
  if (record.item_type !== 'message' || record.item_id !== `${name.persona}/${name.id}`) return false
  return record.event === 'new' || record.action === 'create' || record.action === 'backfill'
}
