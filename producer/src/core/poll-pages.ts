/** One poll of an inbox: its newest page, the pages of its walk, and what they come to (KS-17 to KS-30). */
import type { Persona } from '../journal/persona.js'
import type { Answer, Page, RequestFailure, Row } from '../source/source.js'
import { type Holes, holesBelow, isUnwalked, type Pin, pinOf } from './holes.js'

/** Pages that one walk may ask for (KS-23, KS-58). */
const WALK_PAGES_MAX = 50

/** How a persona comes in: its record is in the journal, or this is how it gets one. */
export type Arrival = 'known' | 'first-contact' | 'seed' | 'damaged'

/** A row, and whether the server cut its body. */
export interface TakenRow {
  readonly row: Row
  readonly isClipped: boolean
}

/** The newest page, and the persona as it was when the page came. */
interface WindowSeen {
  readonly window: Page
  readonly pin: Pin | undefined
  readonly watermark: number
  readonly reach: number
  /** What this poll sets the `floor` of the persona to, if it sets it. */
  readonly floor: number | undefined
  readonly receivedMs: number
}

/** A healthy poll with everything it brought: what the records of section 7 are made of. */
export interface HealthyPoll extends WindowSeen {
  readonly kind: 'healthy'
  readonly arrival: Arrival
  /** Of the window and the walk, ascending, each id once. */
  readonly rows: readonly TakenRow[]
  /** What is not fetched yet. */
  readonly holes: Holes
  /** How many new rows only the walk brought, from between the reach and the window. */
  readonly recovered: number
  readonly wasArmed: boolean
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
  readonly arrival: Arrival
  /** The seed that this poll takes over (KS-35). */
  readonly seed: number | undefined
  readonly wasArmed: boolean
  readonly seen: Seen | undefined
}

interface Seen extends WindowSeen {
  readonly rows: ReadonlyMap<number, TakenRow>
  readonly walk: Walk
}

/** What to ask next for a poll, or what it came to. */
export type PollStep =
  | { readonly kind: 'ask'; readonly poll: PollUnderWay; readonly beforeId: number }
  | { readonly kind: 'done'; readonly result: PollResult }

/** A poll after an answer to what it asked last. */
export function stepPoll(poll: PollUnderWay, persona: Persona, answer: Answer<Page>): PollStep {
  const { seen } = poll
  if (seen === undefined) return windowStep(poll, persona, answer)
  const { walk, isTaken } = afterPage(seen.walk, answer)
  const rows = new Map(seen.rows)
  if (isTaken && answer.ok) {
    const { isClipped } = answer.value
    for (const row of answer.value.rows) if (!rows.has(row.id)) rows.set(row.id, { row, isClipped })
  }
  return nextStep(poll, { ...seen, walk, rows }, persona)
}

function windowStep(poll: PollUnderWay, persona: Persona, answer: Answer<Page>): PollStep {
  const { receivedMs } = answer
  if (!answer.ok) return { kind: 'done', result: { kind: 'failed', failure: answer.failure, receivedMs } }
  const window = answer.value
  const [lowest] = window.rows
  const pin = pinOf(persona)
  const { watermark } = persona
  const { floor, reach } = pollFloorOf(persona, window, poll)
  const before = (pin?.holes ?? []).map(({ above, below }) => ({ above: Math.max(above, reach), below }))
  const isBounded = window.omitted > 0 && lowest !== undefined
  const holes = isBounded
    ? holesBelow(before, { floor: lowest.id, top: persona.messages.highest, reach })
    : []
  const walk: Walk = { holes, pagesLeft: WALK_PAGES_MAX, isOver: holes.length === 0 }
  const rows = new Map(window.rows.map(row => [row.id, { row, isClipped: window.isClipped }]))
  return nextStep(poll, { window, receivedMs, rows, walk, pin, watermark, reach, floor }, persona)
}

function nextStep(poll: PollUnderWay, seen: Seen, persona: Persona): PollStep {
  const beforeId = nextPage(seen.walk)
  if (beforeId !== undefined) return { kind: 'ask', poll: { ...poll, seen }, beforeId }
  const { rows, walk, ...stood } = seen
  const lowest = stood.window.rows[0]?.id ?? 0
  const isRecovered = (id: number): boolean => id > stood.reach && id < lowest && !persona.hasHad(id)
  const result: HealthyPoll = {
    kind: 'healthy',
    ...stood,
    arrival: poll.arrival,
    wasArmed: poll.wasArmed,
    rows: [...rows.values()].sort((a, b) => a.row.id - b.row.id),
    holes: walk.holes,
    recovered: [...rows.keys()].filter(isRecovered).length,
  }
  return { kind: 'done', result }
}

/** How far down one poll goes: the `floor` and the `reach` of its result. */
type PollFloor = Pick<WindowSeen, 'floor' | 'reach'>

function pollFloorOf(
  persona: Persona,
  window: Page,
  { arrival, seed }: Pick<PollUnderWay, 'arrival' | 'seed'>,
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

/** True if no record says from which id on the persona is known. A power loss may take the `floor` alone (RC-7). */
function isUnfounded(persona: Persona): boolean {
  const pin = pinOf(persona)
  const { record, watermark } = persona
  return watermark === 0 && (pin === undefined || isUnwalked(pin)) && (record?.floor ?? 0) === 0
}

/** The seed that a poll takes over: one that was just given, or one of an earlier process that had no poll yet (KS-35). */
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

/** What a page of a walk proves (KS-23). */
type WalkPageClass = 'failed' | 'rejected' | 'open' | 'covered' | 'on'

/** Judges one page of a walk that asked for rows below `beforeId`, toward `above`; the first row that applies decides. */
export function classifyWalkPage(page: Page | undefined, beforeId: number, above: number): WalkPageClass {
  if (page === undefined) return 'failed'
  const { rows, continuation, isContradictory } = page
  if (rows.some(({ id }) => id >= beforeId)) return 'rejected'
  if (continuation.kind === 'unreadable' || isContradictory) return 'open'
  const [lowest] = rows
  if (lowest === undefined) return continuation.kind === 'end' ? 'covered' : 'open'
  if (continuation.kind === 'more' && continuation.beforeId !== lowest.id) return 'open'
  if (lowest.id <= above + 1 || continuation.kind === 'end') return 'covered'
  return 'on'
}

/** A walk through the holes of one inbox, the uppermost first, on behalf of one poll. */
interface Walk {
  readonly holes: Holes
  readonly pagesLeft: number
  readonly isOver: boolean
}

/** The id below which the next page is asked for, if there is anything left to ask. */
function nextPage({ holes, pagesLeft, isOver }: Walk): number | undefined {
  return isOver || pagesLeft <= 0 ? undefined : holes.at(-1)?.below
}

/** The walk after a page; true if the rows of the page are to be taken. */
function afterPage(walk: Walk, answer: Answer<Page>): { readonly walk: Walk; readonly isTaken: boolean } {
  const hole = walk.holes.at(-1)
  if (hole === undefined) return { walk: { ...walk, isOver: true }, isTaken: false }
  const page = answer.ok ? answer.value : undefined
  const pagesLeft = walk.pagesLeft - 1
  const below = walk.holes.slice(0, -1)
  switch (classifyWalkPage(page, hole.below, hole.above)) {
    case 'failed':
    case 'rejected':
      return { walk: { ...walk, pagesLeft, isOver: true }, isTaken: false }
    case 'open':
      return { walk: { ...walk, pagesLeft, isOver: true }, isTaken: true }
    case 'covered':
      return { walk: { holes: below, pagesLeft, isOver: below.length === 0 }, isTaken: true }
    case 'on': {
      const proven = { above: hole.above, below: page?.rows[0]?.id ?? hole.below }
      return { walk: { holes: [...below, proven], pagesLeft, isOver: false }, isTaken: true }
    }
  }
}

/** A walk over the unread rows of an inbox, from the newest page to the end (KS-58). It proves nothing unless covered. */
export interface UnreadWalk {
  /** Messages up to this record were in the journal when it began: they may be read. */
  readonly headSeq: number
  readonly beforeId: number | undefined
  readonly pagesLeft: number
  readonly unread: ReadonlySet<number>
}

/** A walk that begins now. */
export function beginUnreadWalk(headSeq: number): UnreadWalk {
  return { headSeq, beforeId: undefined, pagesLeft: WALK_PAGES_MAX, unread: new Set() }
}

/** After one page: go on, or over; `isCovered` only if it came to the end. */
export function stepUnreadWalk(
  walk: UnreadWalk,
  answer: Answer<Page>,
): { readonly walk: UnreadWalk; readonly isOver: boolean; readonly isCovered: boolean } {
  const page = answer.ok ? answer.value : undefined
  const verdict = classifyWalkPage(page, walk.beforeId ?? Number.POSITIVE_INFINITY, 0)
  const rows = page?.rows ?? []
  const unread = new Set([...walk.unread, ...rows.map(({ id }) => id)])
  const pagesLeft = walk.pagesLeft - 1
  const isOver = verdict !== 'on' || pagesLeft <= 0
  return {
    walk: { ...walk, pagesLeft, unread, beforeId: rows[0]?.id },
    isOver,
    isCovered: verdict === 'covered',
  }
}
