/** RFC 3339 with its zone: without one a time means another moment in each place it is read. */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** A time that stands in a journal, in milliseconds since 1970; NaN where none does, or one that names no moment. */
export function timestampMs(text: unknown): number {
  return typeof text === 'string' && STAMP.test(text) ? Date.parse(text) : Number.NaN
}
