/** What one step ran. A step that only gates (a linter, say) counts nothing and says so with zeros. */
export interface Result {
  readonly ok: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** One line for people: what was looked at. */
  readonly note: string
  /** Lines the suite itself printed about what it ran. */
  readonly said: readonly string[]
  /** Shown only when the step failed. */
  readonly output: string
}

/** Adds the counts of several steps. */
export function sum(results: readonly Result[]): { passed: number; failed: number; skipped: number } {
  return {
    passed: results.reduce((total, result) => total + result.passed, 0),
    failed: results.reduce((total, result) => total + result.failed, 0),
    skipped: results.reduce((total, result) => total + result.skipped, 0),
  }
}

/** The closing line of every tier. */
export function closingLine(counts: { passed: number; failed: number; skipped: number }): string {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
}
