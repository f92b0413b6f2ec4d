import type { DirectoryEntry, PersonaDirectory } from '../source/answer.js'

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** The directory as it was last seen, and when it is fetched again (KS-67). Only a watcher of all has one. */
export class DirectoryWatch {
  readonly #everyMs: number
  #entries: ReadonlyMap<string, DirectoryEntry> | undefined
  /** When the request for the directory at hand was sent. */
  #sentMs = Number.NEGATIVE_INFINITY
  #dueMs = Number.NEGATIVE_INFINITY
  #failures = 0
  isAsked = false

  constructor(rediscoverSeconds: number) {
    this.#everyMs = rediscoverSeconds * 1000
  }

  /** Undefined until one was fetched. */
  get entries(): ReadonlyMap<string, DirectoryEntry> | undefined {
    return this.#entries
  }

  get sentMs(): number {
    return this.#sentMs
  }

  get dueMs(): number {
    return this.isAsked ? Number.POSITIVE_INFINITY : this.#dueMs
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** Wanted before its time: a name nobody knows, or one that an alarm is about (KS-69, KS-63). */
  want(nowMs: number): void {
    if (this.#failures === 0) this.#dueMs = Math.min(this.#dueMs, nowMs)
  }

  fetched(directory: PersonaDirectory, sentMs: number, nowMs: number): void {
    this.isAsked = false
    this.#failures = 0
    this.#entries = new Map(directory.entries.map(entry => [entry.persona, entry]))
    this.#sentMs = sentMs
    this.#dueMs = nowMs + this.#everyMs
  }

  /** The old one stays in force. */
  failed(nowMs: number): void {
    this.isAsked = false
    this.#dueMs =
      nowMs + Math.min(RETRY_MAX_MS, this.#everyMs, RETRY_MIN_MS * 2 ** Math.min(this.#failures, 10))
    this.#failures++
  }
}
