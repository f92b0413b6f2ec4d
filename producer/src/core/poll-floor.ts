import type { Persona } from '../journal/persona.js'
import type { Page } from '../source/answer.js'
import { isUnwalked, pinOf } from './pin.js'
import type { Arrival } from './poll.js'

/** How far down one poll goes. */
export interface PollFloor {
  /** The persona's record gets this `floor` from the poll; undefined where it keeps the one it has. */
  readonly floor: number | undefined
  /** Nothing at or below it is fetched: it is known, or it was there before this persona was watched. */
  readonly reach: number
}

/** How far down a poll goes whose newest page is `window`, and that takes over `seed`, if it takes over one. */
export function pollFloorOf(
  persona: Persona,
  window: Page,
  { arrival, seed }: { readonly arrival: Arrival; readonly seed: number | undefined },
): PollFloor {
  const lowest = window.rows[0]?.id
  // A persona that is armed below its window wants nothing from beneath it (KS-38).
  if (arrival === 'damaged') return { floor: undefined, reach: Math.max(0, (lowest ?? 1) - 1) }
  if (arrival === 'first-contact') return firstFloorOf(persona, window)
  const floor = seed === undefined ? undefined : seedFloorOf(persona, window, seed)
  return { floor, reach: Math.max(persona.reach, (floor ?? 0) - 1) }
}

/** KS-30, KS-94: a first contact that was cut off is walked down to the lowest message that is in the journal. */
function firstFloorOf({ messages }: Persona, { rows, omitted }: Page): PollFloor {
  const lowest = rows[0]?.id
  if (lowest === undefined || omitted === 0) return { floor: 0, reach: 0 }
  const { lowest: known } = messages
  if (known === undefined || lowest <= known) return { floor: lowest, reach: lowest - 1 }
  return { floor: known, reach: known }
}

/** KS-35: from where on the journal has everything once a seed was taken over; undefined if that does not change. */
function seedFloorOf(persona: Persona, { rows, omitted }: Page, seed: number): number | undefined {
  const lowest = rows[0]?.id
  // All of an empty inbox is known, from its first message on.
  const floor = lowest === undefined ? 1 : Math.min(seed + 1, lowest)
  const isRaised = omitted > 0 && floor > persona.reach + 1
  return isRaised || isUnfounded(persona) ? floor : undefined
}

/** True where nothing says yet from which id on the persona is known. A power loss may take the `floor` alone (RC-7). */
function isUnfounded(persona: Persona): boolean {
  const pin = pinOf(persona)
  const { record, watermark } = persona
  return watermark === 0 && (pin === undefined || isUnwalked(pin)) && (record?.floor ?? 0) === 0
}

/** The seed that a poll takes over: one that was just given, or one that stands and had no poll yet (KS-35). */
export function seedOwed(
  persona: Persona,
  arrival: Arrival,
  { isArmed, seedAt }: { readonly isArmed: boolean; readonly seedAt: number | undefined },
): number | undefined {
  if (isArmed || (arrival !== 'known' && arrival !== 'seed')) return undefined
  const seeded = persona.record?.seeded
  if (seedAt !== undefined && seedAt !== seeded) return seedAt
  return isUnfounded(persona) ? seeded : undefined
}
