/** The state at a moment: from the nearest checkpoint, and the lines from there on. */
import { safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { type PassOptions, PassPacer, segmentBytes } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { type Mark, walkLines } from './line-walk.js'
import { type Base, nearestCheckpoint, startFrom, type Wanted } from './nearest-checkpoint.js'
import { Payloads } from './payloads.js'
import { endingAt, type Point, type Stop, stopOf } from './point.js'
import { Reading } from './reading.js'

/** What was read to answer for a moment. */
export interface StateAt {
  readonly point: Point
  readonly reading: Reading
  readonly base: Base | undefined
  readonly missing: Missing
  readonly payloads: Payloads
}

/** Reads up to a moment. Throws `no_record` where nothing is known of it. */
export async function stateAt(journal: CopiedJournal, point: Point, options: PassOptions): Promise<StateAt> {
  return await stateAtStop(journal, point, await stopOf(journal, point, options), options)
}

/** The same, where the place of the moment is known. */
export async function stateAtStop(
  journal: CopiedJournal,
  point: Point,
  stop: Stop,
  options: PassOptions,
): Promise<StateAt> {
  let below = Number.POSITIVE_INFINITY
  for (;;) {
    const base = await nearestCheckpoint(journal, wanted(journal, stop, below), options.signal)
    const reading = new Reading(startFrom(base, journal), endingAt(stop))
    // Without a record there is no time; an older checkpoint has one after it.
    await walkLines(journal, reading, paceFrom(journal, base?.tail, options), base?.tail)
    if (reading.last === undefined && base !== undefined) {
      below = base.document.header.head_seq
      continue
    }
    if (base === undefined && journal.first > 1) {
      if (reading.last === undefined) throw tooEarly(journal, reading.damage.close(journal))
      reading.damage.startsAt(journal.first)
    }
    const payloads = new Payloads(journal.eventsDir).need(reading.entities.images())
    return { point, reading, base, missing: reading.damage.close(journal, payloads.faults), payloads }
  }
}

/** Counts the work of a walk that begins at a mark. */
export function paceFrom(journal: CopiedJournal, from: Mark | undefined, options: PassOptions): PassPacer {
  const pace = new PassPacer(options)
  const { listing } = journal.history
  const segments = listing.segments.filter(({ number }) => number >= (from?.segment ?? 0))
  pace.expect(segmentBytes(journal.eventsDir, { ...listing, segments }))
  return pace
}

/** The checkpoint that reading up to a stop begins with. */
export async function baseOf(
  journal: CopiedJournal,
  stop: Stop,
  options: PassOptions,
): Promise<Base | undefined> {
  return await nearestCheckpoint(journal, wanted(journal, stop, Number.POSITIVE_INFINITY), options.signal)
}

/** Those that lie wholly before a stop, and reach to what is available. */
function wanted({ first }: CopiedJournal, stop: Stop, below: number): Wanted {
  const reaches = (headSeq: number): boolean => headSeq < below && headSeq >= first - 1
  if (stop.kind === 'end') return { covers: reaches }
  if (stop.kind === 'above') return { covers: headSeq => reaches(headSeq) && headSeq < stop.seq }
  const { segment, offset } = stop.mark
  return {
    covers: (headSeq, home) => reaches(headSeq) && home <= segment,
    ends: tail => tail.segment < segment || (tail.segment === segment && tail.offset <= offset),
  }
}

function tooEarly({ first, history }: CopiedJournal, { findings }: Missing): KimError {
  const begin = `the available records begin at seq ${first}, and no verified checkpoint is older`
  const [blocked] = history.listing.failures
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
