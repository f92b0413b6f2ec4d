import type { Lanes } from './lanes.js'

/** A lane that does not come further; a type and no interface, so that it counts as JSON. */
type HeldLane = {
  /** '' for a sink with a single place. */
  readonly lane: string
  /** What it took last. */
  readonly seq: number
  /** Why it takes nothing more; null while it catches up. */
  readonly why: string | null
  readonly tries: number
  /** For how long it has been refusing; 0 while it catches up. */
  readonly for_ms: number
}

/** How one sink is, for `status`, health and metrics. */
export type SinkStatus = {
  /** The kind of sink. */
  readonly sink: string
  /** Which one of its kind. */
  readonly identity: string
  /** `off`: its watermark cannot be read, so that it delivers nothing. */
  readonly state: 'working' | 'held' | 'off'
  /** Why it is off, or what is in its way besides its lanes: a watermark that cannot be kept, a journal that cannot be read. */
  readonly why: string | null
  /** Every lane that is not held has dealt with everything up to here; null where that is unknown. */
  readonly seq: number | null
  /** Records behind what is durable, by the lane that is furthest behind. */
  readonly behind: number | null
  /** For how long something has been waiting to be delivered. */
  readonly lag_ms: number
  /** Runs of records that were gone before they could be delivered, by reason. */
  readonly gaps: Readonly<Record<string, number>>
  /** Events that were skipped after their tries, by wake class, since this process began (KS-72). */
  readonly skipped: Readonly<Record<string, number>>
  /** How many lanes are held. */
  readonly held: number
  /** Those of them that are furthest behind. */
  readonly lanes: readonly HeldLane[]
}

/** The kind of the sink whose watermark is kept under these words. */
export function sinkKind(identity: string): string {
  if (!identity.startsWith('file:')) return identity
  return identity.includes('{persona}') ? 'events-file-template' : 'events-file'
}

/** Held lanes that a status names one by one. */
const LANES_SHOWN_MAX = 20

/** How far the lanes of a sink have come; `durableSeq`: the newest record there is for them. */
export function progressOf(
  sink: Lanes,
  durableSeq: number | undefined,
  nowMs: number,
): Pick<SinkStatus, 'state' | 'seq' | 'behind' | 'held' | 'lanes'> {
  const { all, passed } = sink
  const lanes = all
    .filter(({ block, isCatchingUp, missedSinceMs }) => block || isCatchingUp || missedSinceMs !== undefined)
    .map(({ block, name: lane, place: { seq } }): HeldLane => {
      if (block === undefined) return { lane, seq, why: null, tries: 0, for_ms: 0 }
      return { lane, seq, why: block.why, tries: block.tries, for_ms: nowMs - block.sinceMs }
    })
    .sort((a, b) => a.seq - b.seq)
  const lowest = Math.min(passed.seq, ...all.map(({ place }) => place.seq))
  return {
    state: sink.areBlocked ? 'held' : 'working',
    seq: passed.seq,
    behind: Math.max(0, (durableSeq ?? passed.seq) - lowest),
    held: lanes.length,
    lanes: lanes.slice(0, LANES_SHOWN_MAX),
  }
}
