import { isCount, isJsonObject, type JsonObject, type JsonValue } from '@kim/manifest'

/** A span of ids that nobody has seen yet: those above `above` and below `below`. */
interface Hole {
  readonly above: number
  readonly below: number
}

/** The holes of one inbox, lowest first. Everything between two of them, and above the last, was seen. */
export type Holes = readonly Hole[]

/** So many holes are remembered one by one; more become one, which only costs pages. */
const HOLES_MAX = 8

const isOpen = ({ above, below }: Hole): boolean => below - above > 1

/** What the newest page says about the holes. */
export interface WindowEdge {
  /** Its smallest id. */
  readonly floor: number
  /** The highest id that stood in the journal when it was asked for. */
  readonly top: number
  /** Everything at or below it is in the journal, or proven not to exist, or never wanted. */
  readonly reach: number
}

/**
 * The holes after a window that withholds something (KS-22): what it shows is seen, and what lies between it and
 * what stood before is not. A window that withholds nothing leaves no hole at all.
 */
export function holesBelow(holes: Holes, { floor, top, reach }: WindowEdge): Holes {
  const trimmed = holes.map(({ above, below }) => ({ above, below: Math.min(below, floor) })).filter(isOpen)
  const upper = trimmed.at(-1)
  const base = Math.max(top, reach)
  if (upper === undefined) {
    // A pin whose holes the window reaches into is closed; nothing else can be missing below what stands.
    const opened = { above: holes.length === 0 ? reach : base, below: floor }
    return isOpen(opened) ? [opened] : []
  }
  // Nothing that the uppermost hole was opened for came to stand: it reaches up to this window.
  if (base < upper.below) return merged([...trimmed.slice(0, -1), { above: upper.above, below: floor }])
  const later = { above: base, below: floor }
  return isOpen(later) ? merged([...trimmed, later]) : trimmed
}

function merged(holes: Holes): Holes {
  const few = holes.filter(isOpen)
  if (few.length <= HOLES_MAX) return few
  const kept = few.slice(0, HOLES_MAX - 1)
  const first = few[HOLES_MAX - 1]
  const last = few.at(-1)
  return first === undefined || last === undefined
    ? few
    : [...kept, { above: first.above, below: last.below }]
}

/** The member `walk` of a pin: where the walk goes on, what the first one has proven, and the later holes. */
export function walkMember(holes: Holes): JsonObject {
  const [first, ...later] = holes
  const last = holes.at(-1)
  const member = { next_before_id: last?.below ?? 0, proven_down_to: first?.below ?? 0 }
  return later.length === 0 ? member : { ...member, later: later.map(({ above, below }) => [above, below]) }
}

/** Reads the holes of a pin; one that does not say how far it came begins anew from wherever the window ends. */
export function parseHoles(cursorAt: number, walk: JsonValue | undefined): Holes {
  const from = (value: JsonValue | undefined): number => (isCount(value) ? value : Number.MAX_SAFE_INTEGER)
  if (!isJsonObject(walk)) return [{ above: cursorAt, below: Number.MAX_SAFE_INTEGER }]
  const holes: Hole[] = [{ above: cursorAt, below: from(walk['proven_down_to']) }]
  const later = walk['later']
  if (Array.isArray(later)) {
    for (const pair of later) {
      if (!Array.isArray(pair)) continue
      const [above, below] = pair
      if (isCount(above) && isCount(below)) holes.push({ above, below })
    }
  }
  return holes.filter(isOpen).sort((a, b) => a.above - b.above)
}
