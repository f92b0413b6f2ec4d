import type { Message } from './mail.js'
import type { Settings } from './settings.js'

/** What a request for a page asks. */
export interface WindowQuery {
  readonly beforeId?: number | undefined
  readonly limit?: number | undefined
  readonly unreadOnly: boolean
  readonly markRead: boolean
}

/** A page: its body, and the messages it marks as read. */
export interface Window {
  readonly body: Record<string, unknown>
  readonly marked: readonly number[]
}

interface Cut {
  /** Newest first. */
  readonly shown: readonly Message[]
  readonly cutByCount: number
  readonly cutByBudget: number
  readonly clippedTo: number | undefined
}

/** Cuts the newest rows off a list, newest first: by count, then by the budget, which never takes the newest. */
function cut(newestFirst: readonly Message[], limit: number | null, budget: number | null): Cut {
  const counted = limit === null ? newestFirst : newestFirst.slice(0, limit)
  const cutByCount = newestFirst.length - counted.length
  const newest = counted[0]
  if (budget === null || newest === undefined) {
    return { shown: counted, cutByCount, cutByBudget: 0, clippedTo: undefined }
  }
  let size = newest.content.length
  const clippedTo = size > budget ? budget : undefined
  let kept = 1
  for (; kept < counted.length; kept++) {
    size += counted[kept]?.content.length ?? 0
    if (size > budget) break
  }
  return { shown: counted.slice(0, kept), cutByCount, cutByBudget: counted.length - kept, clippedTo }
}

/** The same order for the same rows, but neither up nor down. */
function shuffled<T extends { readonly id: number }>(rows: readonly T[]): T[] {
  const weight = (id: number): number => Math.imul(id ^ 0x9e3779b9, 0x85ebca6b) >>> 0
  return [...rows].sort((a, b) => weight(a.id) - weight(b.id))
}

/** One page of an inbox, given in ascending order. Nothing is changed: the caller marks what is to be marked. */
export function windowOf(inbox: readonly Message[], query: WindowQuery, settings: Settings): Window {
  const { beforeId, unreadOnly, markRead } = query
  const asked = inbox.filter(
    ({ id, read }) => (beforeId === undefined || id < beforeId) && (!unreadOnly || !read),
  )
  const limit = query.limit ?? settings.pageRows
  const { shown, cutByCount, cutByBudget, clippedTo } = cut(asked.toReversed(), limit, settings.pageBudget)
  const dropped = asked.slice(asked.length - cutByCount - cutByBudget)
  const marked = markRead ? [...shown, ...(settings.marksDropped ? dropped : [])].map(({ id }) => id) : []
  const rows = shown.map(({ id, from, content, created, read }, index) => ({
    id,
    from,
    content: index === 0 && clippedTo !== undefined ? content.slice(0, clippedTo) : content,
    created,
    read,
  }))
  const result =
    settings.rowOrder === 'shuffled'
      ? shuffled(rows)
      : settings.rowOrder === 'ascending'
        ? rows.toReversed()
        : rows
  if (settings.dialect === 'local') return { body: { result }, marked }
  const isWithheld = cutByCount + cutByBudget > 0
  const isUnread = (message: Message): boolean => !message.read && !marked.includes(message.id)
  const hidden = inbox.filter(isUnread).length - shown.filter(isUnread).length
  return {
    body: {
      result,
      truncated: cutByCount > 0,
      size_dropped: cutByBudget,
      size_truncated: cutByBudget > 0 || clippedTo !== undefined,
      next_before_id: isWithheld ? (shown.at(-1)?.id ?? null) : null,
      unread_not_shown: isWithheld ? Math.max(0, hidden) : 0,
    },
    marked,
  }
}
