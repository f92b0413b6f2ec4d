import type { Answer, Page } from '../source/answer.js'
import { classifyWalkPage } from './walk.js'

const PAGES_MAX = 50

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
  return { headSeq, beforeId: undefined, pagesLeft: PAGES_MAX, unread: new Set() }
}

/** After one page: go on, or over; `isCovered` only if it came to the end. */
export function stepUnreadWalk(
  walk: UnreadWalk,
  answer: Answer<Page>,
): { readonly walk: UnreadWalk; readonly isOver: boolean; readonly isCovered: boolean } {
  const page = answer.ok ? answer.value : undefined
  const verdict = classifyWalkPage(page, walk.beforeId ?? Number.POSITIVE_INFINITY, 0)
  const lowest = page?.rows[0]?.id
  const unread = new Set([...walk.unread, ...(page?.rows ?? []).map(({ id }) => id)])
  const next = { ...walk, pagesLeft: walk.pagesLeft - 1, unread, beforeId: lowest }
  const isCovered = verdict === 'covered'
  return { walk: next, isCovered, isOver: verdict !== 'on' || next.pagesLeft <= 0 }
}
