import type { EntityOutline, StoredState } from '../journal/journal.js'
import type { Authorship } from './authorship.js'
import { UNSEEN_BODY } from './body-hash.js'
import { bodyMark, idOfMessage } from './persona.js'
import type { Personas } from './personas.js'

/** So many messages are looked at in one slice: about a millisecond. */
const SLICE = 100

/** Looks at the messages of earlier lives, a slice at a time: who wrote them, and a number for each body. */
export class AuthorIndexer {
  readonly #view: StoredState
  readonly #personas: Personas
  readonly #authorship: Authorship
  #rest: Iterator<EntityOutline> | undefined

  constructor(view: StoredState, personas: Personas, authorship: Authorship) {
    this.#view = view
    this.#personas = personas
    this.#authorship = authorship
    this.restart()
  }

  /** From the beginning: what stands in the journal is another than was thought. */
  restart(): void {
    this.#rest = this.#view.outlines('message')[Symbol.iterator]()
    this.#authorship.isComplete = false
  }

  get isDone(): boolean {
    return this.#rest === undefined
  }

  /** True once everything was looked at. */
  step(): boolean {
    for (let n = 0; n < SLICE && this.#rest !== undefined; n++) {
      const { done, value } = this.#rest.next()
      if (done === true) {
        this.#rest = undefined
        this.#authorship.isComplete = true
      } else this.#look(value.item_id)
    }
    return this.isDone
  }

  #look(itemId: string): void {
    const parsed = idOfMessage(itemId)
    const index = parsed === undefined ? undefined : this.#personas.find(parsed.persona)?.index
    if (parsed === undefined || index === undefined || index.bodyOf(parsed.id) !== UNSEEN_BODY) return
    // It may have been retired since the list was made.
    if (!this.#view.has('message', itemId)) return
    const payload = this.#view.get('message', itemId)?.payload
    index.setBody(parsed.id, bodyMark(payload))
    const author = payload?.['from']
    if (typeof author === 'string') this.#authorship.saw(author, parsed.id)
  }
}
