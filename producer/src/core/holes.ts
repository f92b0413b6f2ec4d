/** Spans of ids that were not fetched yet, and the alert that declares them: the pin (KS-22, KS-25). */
import { isCount, isJsonObject, type JsonObject, type JsonValue } from '@kim/manifest'
import type { Persona } from '../journal/persona.js'

/** A span of ids that were not fetched yet: those above `above` and below `below`. */
interface Hole {
  readonly above: number
  readonly below: number
}

/** The holes of one inbox, lowest first. Everything between two of them, and above the last, was fetched. */
export type Holes = readonly Hole[]

/** So many holes are remembered one by one. More become one, which only costs requests for pages. */
const HOLES_MAX = 8

const isOpen = ({ above, below }: Hole): boolean => below - above > 1

/** What the newest page says about the holes. */
export interface WindowEdge {
  /** Its smallest id. */
  readonly floor: number
  /** The highest id that was in the journal when the page was asked for. */
  readonly top: number
  /** Everything at or below it is in the journal, or proven not to exist, or never wanted. */
  readonly reach: number
}

/**
 * The holes after a window that withholds something (KS-22): what it shows is fetched, and what lies between it and
 * the journal is not. A window that withholds nothing leaves no hole at all.
 */
export function holesBelow(holes: Holes, { floor, top, reach }: WindowEdge): Holes {
  const trimmed = holes.map(({ above, below }) => ({ above, below: Math.min(below, floor) })).filter(isOpen)
  const upper = trimmed.at(-1)
  const base = Math.max(top, reach)
  if (upper === undefined) {
    // A pin whose holes the window reaches into is closed; nothing else can be missing below the journal.
    const opened = { above: holes.length === 0 ? reach : base, below: floor }
    return isOpen(opened) ? [opened] : []
  }
  // Nothing came of what the uppermost hole was opened for: it reaches up to this window.
  if (base < upper.below) return merged([...trimmed.slice(0, -1), { above: upper.above, below: floor }])
  const later = { above: base, below: floor }
  return isOpen(later) ? merged([...trimmed, later]) : trimmed
}

function merged(holes: Holes): Holes {
  const few = holes.filter(isOpen)
  const first = few[HOLES_MAX - 1]
  const last = few.at(-1)
  if (few.length <= HOLES_MAX || first === undefined || last === undefined) return few
  return [...few.slice(0, HOLES_MAX - 1), { above: first.above, below: last.below }]
}

/** The member `walk` of a pin: where the walk goes on, what the first one has proven, and the later holes. */
export function walkMember(holes: Holes): JsonObject {
  const [first, ...later] = holes
  const last = holes.at(-1)
  const member = { next_before_id: last?.below ?? 0, proven_down_to: first?.below ?? 0 }
  return later.length === 0 ? member : { ...member, later: later.map(({ above, below }) => [above, below]) }
}

/** Reads the holes of a pin. One that does not say how far it came begins at the next window. */
export function parseHoles(cursorAt: number, walk: JsonValue | undefined): Holes {
  const from = (value: JsonValue | undefined): number => (isCount(value) ? value : Number.MAX_SAFE_INTEGER)
  if (!isJsonObject(walk)) return [{ above: cursorAt, below: Number.MAX_SAFE_INTEGER }]
  const holes: Hole[] = [{ above: cursorAt, below: from(walk['proven_down_to']) }]
  const later = Array.isArray(walk['later']) ? walk['later'] : []
  for (const pair of later) {
    const [above, below] = Array.isArray(pair) ? pair : []
    if (isCount(above) && isCount(below)) holes.push({ above, below })
  }
  return holes.filter(isOpen).sort((a, b) => a.above - b.above)
}

/** An open `bounded-window` alert: the watermark stays where it is until every hole above it was walked (KS-25). */
export interface Pin {
  readonly cursorAt: number
  readonly holes: Holes
  /** How many messages the walks have brought. */
  readonly reconciled: number
  readonly windowFloor: number
  readonly omitted: number
}

/** The pin of a persona, if it has one. */
export function pinOf(persona: Persona): Pin | undefined {
  const payload = persona.openAlert('bounded-window')
  if (payload === undefined) return undefined
  const count = (value: unknown): number => (isCount(value) ? value : 0)
  const cursorAt = count(payload['cursor_at'])
  return {
    cursorAt,
    holes: parseHoles(cursorAt, payload['walk']),
    reconciled: count(payload['reconciled']),
    windowFloor: count(payload['window_floor']),
    omitted: count(payload['omitted']),
  }
}

/** True for a pin that an open set for lost mail (RC-7): no window has said anything about it yet. */
export function isUnwalked({ holes }: Pin): boolean {
  return holes.at(-1)?.below === Number.MAX_SAFE_INTEGER
}

/** The members of a pin's record besides those of every alert. */
export function pinMembers({ cursorAt, holes, reconciled, windowFloor, omitted }: Pin): JsonObject {
  return {
    omitted,
    window_floor: windowFloor,
    cursor_at: cursorAt,
    reconciled,
    pinned: true,
    walk: walkMember(holes),
  }
}

/** True if two pins say the same about what was walked. */
export function isSamePin(a: Pin, b: Pin): boolean {
  const said = ({ cursorAt, reconciled, holes }: Pin): string => JSON.stringify([cursorAt, reconciled, holes])
  return said(a) === said(b)
}
