import type { StoredState } from '../journal/journal.js'
import { messageItemId } from '../journal/message-id.js'
import { parseAlertId } from './alert-kind.js'
import { UNSEEN_BODY } from './body-hash.js'
import { idOfMessage, Persona } from './persona.js'

/** Every persona that the journal or the selection knows, by exact name. Two spellings are two (KS-68). */
export class Personas {
  readonly #byName: Map<string, Persona> = new Map()
  readonly #view: StoredState

  constructor(view: StoredState) {
    this.#view = view
    this.derive(Number.NEGATIVE_INFINITY)
  }

  find(name: string): Persona | undefined {
    return this.#byName.get(name)
  }

  /** The persona of that name, made if nobody knows it yet. */
  take(name: string): Persona {
    let persona = this.#byName.get(name)
    if (persona === undefined) {
      persona = new Persona(name)
      this.#byName.set(name, persona)
    }
    return persona
  }

  *[Symbol.iterator](): Generator<Persona> {
    yield* this.#byName.values()
  }

  /** Reads everything from the journal's state anew (KS-28); what is unread there stands since `sinceMs` at least. */
  derive(sinceMs: number): void {
    const view = this.#view
    for (const persona of this.#byName.values()) persona.forget()
    for (const { item_id } of view.outlines('persona')) this.take(item_id).readRecords(view)
    for (const { item_id } of view.outlines('alert')) {
      const parsed = parseAlertId(item_id)
      const payload = parsed === undefined ? undefined : view.get('alert', item_id)?.payload
      if (parsed !== undefined && payload !== undefined)
        this.take(parsed.persona).alerts.set(parsed.kind, payload)
    }
    for (const { item_id, read } of view.outlines('message')) {
      const parsed = idOfMessage(item_id)
      if (parsed === undefined) continue
      const mark = { isRead: read, body: UNSEEN_BODY, sinceMs }
      this.take(parsed.persona).index.put(parsed.id, mark)
    }
    // A record that was removed leaves its revision behind.
    for (const persona of this.#byName.values()) {
      persona.revision = view.revisionOf('persona', persona.name) ?? persona.revision
    }
  }

  /** Follows what retention did behind a commit, whosever it was: it updates the persona and takes messages out of the state. */
  follow(persona: Persona): void {
    const revision = this.#view.revisionOf('persona', persona.name) ?? 0
    if (revision === persona.revision) return
    persona.archivings += revision - persona.revision
    persona.readRecords(this.#view)
    // What a cap silenced, or a first contact passed over, is counted until it was announced.
    if (persona.isCountOwed || persona.isOnlyCreated) return
    const gone = [...persona.index.ids()].filter(
      id => !this.#view.has('message', messageItemId(persona.name, id)),
    )
    for (const id of gone) persona.index.drop(id)
  }
}
