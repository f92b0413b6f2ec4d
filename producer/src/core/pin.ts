import { isCount, type JsonObject } from '@kim/manifest'
import type { Persona } from '../journal/persona.js'
import { type Holes, parseHoles, walkMember } from './hole.js'

/** An open `bounded-window` alarm: the watermark stays where it is until every hole above it was walked (KS-25). */
export interface Pin {
  readonly cursorAt: number
  readonly holes: Holes
  /** How many messages the walks have brought. */
  readonly reconciled: number
  readonly windowFloor: number
  readonly omitted: number
}

const count = (value: unknown): number => (isCount(value) ? value : 0)

/** The pin that stands, if one does. */
export function pinOf(persona: Persona): Pin | undefined {
  const payload = persona.openAlert('bounded-window')
  if (payload === undefined) return undefined
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

/** The members of a pin's record besides those of every alarm. */
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

/** True where two pins say the same about what was walked. */
export function isSamePin(a: Pin, b: Pin): boolean {
  return (
    a.cursorAt === b.cursorAt &&
    a.reconciled === b.reconciled &&
    JSON.stringify(a.holes) === JSON.stringify(b.holes)
  )
}
