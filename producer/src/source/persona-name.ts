import { safeText } from '@kim/cli-kit'
import { limits } from '@kim/manifest'

/** How much of a refused name a log line shows, and how many of them an answer's log lines name. */
const SHOWN_CHARACTERS_MAX = 80
const SHOWN_NAMES_MAX = 20

/** True for what can be a persona's name: any well-formed text that a record can carry (KS-70). */
export function isPersonaName(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= limits.personaNameBytesMax &&
    Buffer.byteLength(value) <= limits.personaNameBytesMax &&
    // The same as isWellFormed, which this level of the language does not have yet.
    !/\p{Surrogate}/u.test(value)
  )
}

/** Names that were refused, safe to print, each once; a flood of them is counted. */
export class RefusedNames {
  readonly #shown = new Set<string>()
  #more = 0

  add(value: unknown): void {
    const text = typeof value === 'string' ? value.slice(0, SHOWN_CHARACTERS_MAX) : undefined
    const shown = text === undefined ? 'a row without a name' : `"${safeText(text)}"`
    if (this.#shown.has(shown)) return
    if (this.#shown.size < SHOWN_NAMES_MAX) this.#shown.add(shown)
    else this.#more++
  }

  list(): readonly string[] {
    return this.#more === 0 ? [...this.#shown] : [...this.#shown, `and ${this.#more} more`]
  }
}
