import type { RuleEffect } from '@kim/example-kijito-sim'

/** Members of a page or a row; one that is `undefined` is left out of the answer. */
export type Members = Readonly<Record<string, unknown>>

/** A message as these pages show it: the same id always with the same text. */
export function messageRow(id: unknown, more: Members = {}): Members {
  return { id, from: 'river', content: `text ${id}`, created: '2026-06-10T14:03:21Z', read: false, ...more }
}

/** A page with these rows that withholds nothing, unless other members say so. */
export function page(rows: readonly (number | Members)[], more: Members = {}): RuleEffect {
  const result = rows.map(row => (typeof row === 'number' ? messageRow(row) : row))
  return {
    json: {
      result,
      truncated: false,
      size_dropped: 0,
      size_truncated: false,
      next_before_id: null,
      unread_not_shown: 0,
      ...more,
    },
  }
}

/** A complete page. */
export function complete(...ids: readonly number[]): RuleEffect {
  return page(ids)
}

/** A page that was cut, and can be continued at its lowest id. */
export function cut(...ids: readonly number[]): RuleEffect {
  return page(ids, { truncated: true, next_before_id: Math.min(...ids) })
}

/** An answer of counts. A row is a persona with its unread mail. */
export function counts(unread: Readonly<Record<string, number>>, cursor?: unknown): RuleEffect {
  const result = Object.entries(unread).map(([persona, number]) => ({ persona, unread: number }))
  return { json: { result, cursor }, hold_ms: 0 }
}

/** A directory of rows; a name stands for a member who owns something. */
export function directory(...rows: readonly (string | Members)[]): RuleEffect {
  return {
    json: { result: rows.map(row => (typeof row === 'string' ? { persona: row, memory_count: 3 } : row)) },
  }
}
