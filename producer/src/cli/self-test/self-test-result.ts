/** What one part of a self-test came to. */
export interface SelfTestResult {
  readonly part: 'inbox' | 'journal' | 'reader' | 'sink'
  /** What it is about: an inbox, a sink, or nothing in particular. */
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  /** What is odd about it though it is well. */
  readonly warning?: string
  /** What to do about it. */
  readonly hint?: string | undefined
  readonly ms: number
}
