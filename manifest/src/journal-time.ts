/** A time as our writer writes it; texts of this form order as the times do. */
const OURS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/**
 * The time a journal has come to: the latest that any of its records so far states. It is what ages are counted by,
 * so that everybody who reads the same records counts the same, and a clock that is set back makes nothing younger.
 */
export class JournalTime {
  #latest = ''

  /** Takes in the time of the next record. */
  see(ts: string | undefined): void {
    if (ts !== undefined && ts > this.#latest && OURS.test(ts)) this.#latest = ts
  }

  /** Milliseconds since 1970; NaN before the first record. */
  get ms(): number {
    return Date.parse(this.#latest)
  }
}
