import type { Persona } from '../journal/persona.js'
import type { Answer, Page, RequestFailure, Row } from '../source/answer.js'
import { type Holes, holesBelow } from './hole.js'
import { type Pin, pinOf } from './pin.js'
import { pollFloorOf } from './poll-floor.js'
import { afterPage, nextPage, type Walk } from './walk.js'

/** Pages of a walk that one poll may ask for (KS-23). */
const WALK_PAGES_MAX = 50

/** How a persona comes in: its record stands, or this is how it gets one. */
export type Arrival = 'known' | 'first-contact' | 'seed' | 'damaged'

/** A row, and whether the server cut its body. */
export interface TakenRow {
  readonly row: Row
  readonly isClipped: boolean
}

/** A healthy poll with everything it brought: what the records of section 7 are made of. */
export interface HealthyPoll {
  readonly kind: 'healthy'
  readonly arrival: Arrival
  readonly window: Page
  /** Of the window and the walk, ascending, each id once. */
  readonly rows: readonly TakenRow[]
  /** What nobody has seen yet. */
  readonly holes: Holes
  /** New rows that only the walk brought, from between the reach and the window. */
  readonly recovered: number
  /** The pin, the watermark and the reach as they stood when the window came. */
  readonly pin: Pin | undefined
  readonly watermark: number
  readonly reach: number
  /** What this poll sets the persona's `floor` to, if it sets it. */
  readonly floor: number | undefined
  readonly wasArmed: boolean
  readonly receivedMs: number
}

/** A poll that says nothing about the mail (KS-17). */
export interface FailedPoll {
  readonly kind: 'failed'
  readonly failure: RequestFailure
  readonly receivedMs: number
}

/** How a poll ended. */
export type PollResult = HealthyPoll | FailedPoll

/** A poll under way: the newest page first, then the pages of its walk. */
export interface PollUnderWay {
  readonly startedMs: number
  readonly arrival: Arrival
  /** The seed that this poll takes over (KS-35). */
  readonly seed: number | undefined
  readonly wasArmed: boolean
  readonly seen: Seen | undefined
}

interface Seen {
  readonly window: Page
  readonly receivedMs: number
  readonly rows: ReadonlyMap<number, TakenRow>
  readonly walk: Walk
  readonly pin: Pin | undefined
  readonly watermark: number
  readonly reach: number
  readonly floor: number | undefined
}

/** What to ask next for a poll, or what it came to. */
export type PollStep =
  | { readonly kind: 'ask'; readonly poll: PollUnderWay; readonly beforeId: number }
  | { readonly kind: 'done'; readonly result: PollResult }

/** An empty page that says it withholds something breaks the contract (KS-21). */
const brokenWindow: RequestFailure = {
  token: 'shape-invalid',
  status: undefined,
  reason: 'shape-invalid: a page without rows says that rows were withheld',
}

/** A poll after an answer to what it asked last. */
export function stepPoll(poll: PollUnderWay, persona: Persona, answer: Answer<Page>): PollStep {
  return poll.seen === undefined
    ? windowStep(poll, persona, answer)
    : walkStep(poll, poll.seen, persona, answer)
}

function windowStep(poll: PollUnderWay, persona: Persona, answer: Answer<Page>): PollStep {
  const { receivedMs } = answer
  if (!answer.ok) return { kind: 'done', result: { kind: 'failed', failure: answer.failure, receivedMs } }
  const window = answer.value
  const [lowest] = window.rows
  if (lowest === undefined && window.omitted > 0) {
    return { kind: 'done', result: { kind: 'failed', failure: brokenWindow, receivedMs } }
  }
  const pin = pinOf(persona)
  const { watermark } = persona
  const { floor, reach } = pollFloorOf(persona, window, poll)
  const isBounded = window.omitted > 0 && lowest !== undefined
  const before = (pin?.holes ?? []).map(({ above, below }) => ({ above: Math.max(above, reach), below }))
  const holes = isBounded
    ? holesBelow(before, { floor: lowest.id, top: persona.messages.highest, reach })
    : []
  const walk: Walk = { holes, pagesLeft: WALK_PAGES_MAX, isOver: holes.length === 0 }
  const rows = new Map(window.rows.map(row => [row.id, { row, isClipped: window.isClipped }]))
  const seen: Seen = { window, receivedMs, rows, walk, pin, watermark, reach, floor }
  return goOn({ ...poll, seen }, seen, persona)
}

function walkStep(poll: PollUnderWay, seen: Seen, persona: Persona, answer: Answer<Page>): PollStep {
  const { walk, isTaken } = afterPage(seen.walk, answer)
  if (!isTaken || !answer.ok) return goOn(poll, { ...seen, walk }, persona)
  const rows = new Map(seen.rows)
  for (const row of answer.value.rows) {
    if (!rows.has(row.id)) rows.set(row.id, { row, isClipped: answer.value.isClipped })
  }
  return goOn(poll, { ...seen, walk, rows }, persona)
}

function goOn(poll: PollUnderWay, seen: Seen, persona: Persona): PollStep {
  const beforeId = nextPage(seen.walk)
  if (beforeId !== undefined) return { kind: 'ask', poll: { ...poll, seen }, beforeId }
  const { window, rows, walk, pin, watermark, reach, floor, receivedMs } = seen
  const lowest = window.rows[0]?.id ?? 0
  const isRecovered = (id: number): boolean => id > reach && id < lowest && !persona.hasHad(id)
  return {
    kind: 'done',
    result: {
      kind: 'healthy',
      arrival: poll.arrival,
      window,
      rows: [...rows.values()].sort((a, b) => a.row.id - b.row.id),
      holes: walk.holes,
      recovered: [...rows.keys()].filter(isRecovered).length,
      pin,
      watermark,
      reach,
      floor,
      wasArmed: poll.wasArmed,
      receivedMs,
    },
  }
}
