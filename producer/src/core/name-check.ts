import type { Answer, PersonaDirectory } from '../source/answer.js'
import type { CoreState } from './core-state.js'
import { unlistedName } from './unlisted-name.js'

/**
 * A mistyped inbox answers as an empty one does. Where a selected inbox answers with nothing and nothing of it stands,
 * the directory is looked at, and whoever is not listed there is said once (KS-92): they stay watched, as they may
 * come later. Only a watcher of a list has one.
 */
export class NameCheck {
  readonly #core: CoreState
  #listed: ReadonlySet<string> | undefined
  #isAsked = false
  #dueMs = Number.NEGATIVE_INFINITY
  /** An older directory says nothing about a name that was not judged by it. */
  #freshUntilMs = Number.NEGATIVE_INFINITY
  readonly #said = new Set<string>()

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Says what is known by now, and asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    this.#judge(nowMs)
    if (this.#isAsked || this.#core.unproven.size === 0) return Number.POSITIVE_INFINITY
    if (this.#dueMs > nowMs) return this.#dueMs
    this.#isAsked = true
    this.#core.ask({ kind: 'directory' })
    return Number.POSITIVE_INFINITY
  }

  /** A look that failed says nothing: who reads mail can do without it. */
  answered(answer: Answer<PersonaDirectory>, nowMs: number): void {
    this.#isAsked = false
    this.#dueMs = nowMs + this.#core.options.rediscoverSeconds * 1000
    if (!answer.ok) return
    this.#freshUntilMs = this.#dueMs
    this.#listed = new Set(answer.value.entries.map(({ persona }) => persona))
  }

  #judge(nowMs: number): void {
    const { unproven } = this.#core
    const listed = this.#listed
    if (listed === undefined) return
    for (const name of unproven) {
      if (listed.has(name)) unproven.delete(name)
      else if (!this.#said.has(name) && nowMs < this.#freshUntilMs) {
        this.#said.add(name)
        const { message, hint } = unlistedName(name, listed)
        this.#core.note({ level: 'warn', code: 'persona_unlisted', message, hint, persona: name })
      }
    }
    for (const name of this.#said) {
      if (unproven.has(name)) continue
      this.#said.delete(name)
      const message = 'the server now lists the persona'
      this.#core.note({ level: 'info', code: 'persona_listed', message, persona: name })
    }
  }
}
