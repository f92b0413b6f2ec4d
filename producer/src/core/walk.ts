import type { Answer, Page } from '../source/answer.js'
import type { Holes } from './hole.js'

/** What a page of a walk proves (KS-23). */
export type WalkPageClass = 'failed' | 'rejected' | 'open' | 'covered' | 'on'

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
export interface Walk {
  readonly holes: Holes
  readonly pagesLeft: number
  readonly isOver: boolean
}

/** The id below which the next page is asked for, if there is anything left to ask. */
export function nextPage({ holes, pagesLeft, isOver }: Walk): number | undefined {
  return isOver || pagesLeft <= 0 ? undefined : holes.at(-1)?.below
}

/** The walk after a page; true if the rows of the page are to be taken. */
export function afterPage(
  walk: Walk,
  answer: Answer<Page>,
): { readonly walk: Walk; readonly isTaken: boolean } {
  const hole = walk.holes.at(-1)
  if (hole === undefined) return { walk: { ...walk, isOver: true }, isTaken: false }
  const page = answer.ok ? answer.value : undefined
  const verdict = classifyWalkPage(page, hole.below, hole.above)
  const pagesLeft = walk.pagesLeft - 1
  const below = walk.holes.slice(0, -1)
  switch (verdict) {
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
