/** The state at a point of a journal: how a point is named, where it is in file order, and what the state was there. */
import type { RecordName } from '@kim/cli-kit'
import {
  eventIdOf,
  KimError,
  nextTurn,
  type ReadRecord,
  readSegment,
  type SegmentLine,
  SegmentReader,
  safeText,
} from '@kim/manifest'
import type { SegmentEntry } from '@kim/observer-sdk/history'
import type {
  JournalCopy,
  JournalPoint,
  PassControl,
  RangeVerdict,
  SegmentWalker,
} from '@kim/observer-sdk/verify'
import { notFound, tooOld } from './not-found.js'
import { Payloads } from './payloads.js'
import {
  type Base,
  nearestCheckpoint,
  Reading,
  type ReadingListener,
  readWhole,
  startOf,
  type WantedBase,
} from './reading.js'
import { timestampMs } from './timestamp.js'

/** A point in a journal. */
export type Point =
  /** Before the first record above this seq. */
  | { readonly kind: 'seq'; readonly seq: number }
  /** After the last record that is not later than this. */
  | { readonly kind: 'time'; readonly ms: number; readonly text: string }
  /** When this record had its effect. */
  | { readonly kind: 'event'; readonly name: RecordName }
  | { readonly kind: 'end' }

/** Where a reading ends. */
export type Stop =
  | { readonly kind: 'above'; readonly seq: number }
  /** After the line at this place; `reach` is the highest seq that may be missing right behind it. */
  | { readonly kind: 'after'; readonly mark: JournalPoint; readonly reach: number }
  | { readonly kind: 'end' }

/** What was read to answer for a point. */
export interface StateAt {
  readonly point: Point
  readonly reading: Reading
  readonly base: Base | undefined
  readonly missing: RangeVerdict
  readonly payloads: Payloads
}

/** Whether a name is this record's. */
export function isNamed(record: ReadRecord, name: RecordName, projectId: string): boolean {
  if (name.kind === 'seq') return record.seq === name.seq
  if (name.kind === 'event') return record.seq === name.seq && eventIdOf(projectId, record) === name.text
  if (!isOfNamed(record, name)) return false
  return record.event === 'new' || record.action === 'create' || record.action === 'backfill'
}

/** Whether a record is about the message that a name names. */
export function isOfNamed({ item_type, item_id }: ReadRecord, name: RecordName): boolean {
  return name.kind === 'message' && item_type === 'message' && item_id === `${name.persona}/${name.id}`
}

/** What a search for a name saw: it makes a hint if the name is not found. */
export class SeenNames {
  readonly personas: Set<string> = new Set()
  /** Of the messages of the persona that was named, the number that is closest. */
  nearest: number | undefined
  readonly #name: RecordName

  constructor(name: RecordName) {
    this.#name = name
  }

  take({ agent, item_type, item_id = '' }: ReadRecord): void {
    const name = this.#name
    if (agent !== undefined && item_type !== 'journal') this.personas.add(agent)
    if (name.kind !== 'message' || item_type !== 'message') return
    const prefix = `${name.persona}/`
    const id = item_id.startsWith(prefix) ? Number(item_id.slice(prefix.length)) : Number.NaN
    if (!Number.isSafeInteger(id) || id === name.id) return
    if (this.nearest === undefined || Math.abs(id - name.id) < Math.abs(this.nearest - name.id))
      this.nearest = id
  }
}

/** Reads up to a point. Throws `no_record` if nothing is known of it. */
export async function stateAt(
  history: JournalCopy,
  point: Point,
  control: PassControl = {},
): Promise<StateAt> {
  return await stateAtStop(history, point, await stopOf(history, point, control), control)
}

/** The same, if the place of the point is known. */
export async function stateAtStop(
  history: JournalCopy,
  point: Point,
  stop: Stop,
  control: PassControl,
): Promise<StateAt> {
  let below = Number.POSITIVE_INFINITY
  for (;;) {
    const base = await baseOf(history, stop, control, below)
    const start = startOf(history, base)
    const reading = new Reading(start, endingAt(stop))
    await history.walk(reading, control, base?.tail)
    // Without a record there is no time; an older checkpoint has one after it.
    if (reading.last === undefined && base !== undefined) {
      below = base.document.header.head_seq
      continue
    }
    if (reading.last === undefined && start.late !== undefined)
      throw tooEarly(history, start.late, reading.close())
    const payloads = new Payloads(history.eventsDir).need(reading.entities.images())
    return { point, reading, base, missing: reading.close(payloads), payloads }
  }
}

/** The checkpoint that reading up to a stop begins with: wholly before it, and reaching to the available records. */
export async function baseOf(
  history: JournalCopy,
  stop: Stop,
  control: PassControl,
  below: number = Number.POSITIVE_INFINITY,
): Promise<Base | undefined> {
  const first = history.first?.number ?? 1
  const reaches = (headSeq: number): boolean => headSeq < below && headSeq >= first - 1
  let wanted: WantedBase = { covers: reaches }
  if (stop.kind === 'above') wanted = { covers: headSeq => reaches(headSeq) && headSeq < stop.seq }
  if (stop.kind === 'after') {
    const { segment, offset } = stop.mark
    wanted = {
      covers: (headSeq, home) => reaches(headSeq) && home <= segment,
      ends: tail => tail.segment < segment || (tail.segment === segment && tail.offset <= offset),
    }
  }
  return await nearestCheckpoint(history, wanted, control.signal)
}

function tooEarly({ listing }: JournalCopy, first: number, { findings }: RangeVerdict): KimError {
  const begin = `the available records begin at seq ${first}, and no verified checkpoint is older`
  const [blocked] = listing.failures
  const [damaged] = findings.unreadable?.examples ?? []
  if (blocked === undefined && damaged === undefined)
    return new KimError('no_record', 'the state at that point is unknown: its records are missing', {
      hint: begin,
    })
  const why =
    blocked === undefined
      ? `unreadable: ${safeText(damaged?.detail ?? '')}`
      : `${safeText(blocked.path)} cannot be read (${blocked.code})`
  return new KimError('record_corrupt', 'the state at that point is unknown: its records cannot be read', {
    hint: `${why}; ${begin}`,
  })
}

/** The place of a point. Throws `no_record` if the journal has no such point. */
export async function stopOf(history: JournalCopy, point: Point, control: PassControl): Promise<Stop> {
  switch (point.kind) {
    case 'seq':
      return { kind: 'above', seq: point.seq }
    case 'end':
      return point
    case 'time': {
      const mark = await lastNotAfter(history, point, control)
      // What is lost behind the last record of that time may be of that time too.
      return { kind: 'after', mark, reach: Number.POSITIVE_INFINITY }
    }
    case 'event': {
      const seeker = new Seeker(point.name, history.projectId)
      await history.walk(seeker, control)
      if (seeker.found !== undefined) return seeker.found
      throw notFound(point.name, seeker.seen, await missingRecords(history, control))
    }
  }
}

/** What a reading that ends there must be told. */
export function endingAt(stop: Stop): Pick<ReadingListener, 'isBeyond' | 'reach'> {
  if (stop.kind === 'end') return {}
  if (stop.kind === 'above') return { isBeyond: ({ seq }) => seq > stop.seq, reach: stop.seq }
  const { mark, reach } = stop
  return {
    isBeyond: (_, segment, offset) =>
      segment > mark.segment || (segment === mark.segment && offset > mark.offset),
    reach,
  }
}

/** What all that is available of a journal lacks: a name that is not found may be in that. */
async function missingRecords(history: JournalCopy, control: PassControl): Promise<RangeVerdict> {
  return (await readWhole(history, {}, control)).close()
}

/** Looks at segments from the newest down: the last match of the first one that has any is it. */
async function lastNotAfter(
  history: JournalCopy,
  { ms, text }: Extract<Point, { kind: 'time' }>,
  control: PassControl,
): Promise<JournalPoint> {
  let earliest: string | undefined
  for (const { number } of history.segments.toReversed()) {
    await nextTurn(control.signal)
    const offset = lastIn(history, number, ({ record: { ts }, offset }) => {
      const at = timestampMs(ts)
      if (ts === undefined || Number.isNaN(at)) return undefined
      earliest = earliest === undefined || ts < earliest ? ts : earliest
      return at <= ms ? offset : undefined
    })
    if (offset !== undefined) return { segment: number, offset }
  }
  throw tooOld(text, earliest, await missingRecords(history, control))
}

/** The time of the last record that states one, in milliseconds: what an old copy calls now. */
export function newestTime(history: JournalCopy): number | undefined {
  for (const { number } of history.segments.toReversed()) {
    const found = lastIn(history, number, ({ record }) => {
      const ms = timestampMs(record.ts)
      return Number.isNaN(ms) ? undefined : ms
    })
    if (found !== undefined) return found
  }
  return undefined
}

/** The last number that is found for a line of a segment. */
function lastIn(
  history: JournalCopy,
  segment: number,
  find: (line: SegmentLine) => number | undefined,
): number | undefined {
  return history.read(segment, content => {
    let last: number | undefined
    const valid = (line: SegmentLine): true => {
      last = find(line) ?? last
      return true
    }
    readSegment(() => content.chunks(), { valid })
    return last
  })
}

/** Finds the line with which the named record had its effect, the newest one if there are several. */
class Seeker implements SegmentWalker {
  readonly seen: SeenNames
  found: Stop | undefined
  readonly #name: RecordName
  readonly #projectId: string

  constructor(name: RecordName, projectId: string) {
    this.#name = name
    this.#projectId = projectId
    this.seen = new SeenNames(name)
  }

  beginSegment({ number }: SegmentEntry): SegmentReader {
    // A transaction has its effect with its last line.
    let last = 0
    const take = ({ record }: SegmentLine): void => {
      this.seen.take(record)
      // Nothing above the record's own number counts.
      if (isNamed(record, this.#name, this.#projectId))
        this.found = { kind: 'after', mark: { segment: number, offset: last }, reach: record.seq }
    }
    return new SegmentReader({
      valid({ offset }) {
        last = offset
        return true
      },
      released: take,
      repeated: take,
    })
  }
}
