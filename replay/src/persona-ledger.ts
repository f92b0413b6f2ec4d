/** What is known of each persona, kept up to date record by record. */
import { type Entity, isCount } from '@kim/manifest'
import { LiveIds } from './live-ids.js'
import type { Payloads } from './payloads.js'

/** One persona, counted. */
export class PersonaTally {
  messages = 0
  unread = 0
  openAlerts = 0
  attention = 0
  /** Its `persona` entity. */
  own: Entity | undefined
  /** Live entities that are its. */
  entities = 0
  readonly ids: LiveIds = new LiveIds()

  /** The highest number of a message that is there; 0 if none is. */
  get newest(): number {
    return this.ids.highest
  }
}

/** Every persona that the state has something for. */
export class PersonaLedger {
  readonly #payloads: Payloads
  readonly #tallies = new Map<string, PersonaTally>()
  #attention = 0

  constructor(payloads: Payloads, entities: Iterable<Entity> = []) {
    this.#payloads = payloads
    for (const entity of entities) this.change(undefined, entity)
  }

  /** How many things wait for a person. */
  get attention(): number {
    return this.#attention
  }

  /** Everybody who ever had something, by name. */
  get everybody(): string[] {
    return [...this.#tallies.keys()].sort()
  }

  get(persona: string): PersonaTally | undefined {
    const tally = this.#tallies.get(persona)
    return tally === undefined || tally.entities === 0 ? undefined : tally
  }

  /** One entity is another one now. */
  change(before: Entity | undefined, after: Entity | undefined): void {
    if (before !== undefined) this.#count(before, -1)
    if (after !== undefined) this.#count(after, 1)
  }

  #count(entity: Entity, sign: 1 | -1): void {
    const { owner, kind, unread, id, open, attention } = this.#payloads.facts(entity)
    this.#attention += sign * attention
    if (owner === undefined) return
    let tally = this.#tallies.get(owner)
    if (tally === undefined) {
      tally = new PersonaTally()
      this.#tallies.set(owner, tally)
    }
    tally.entities += sign
    tally.attention += sign * attention
    if (kind === 'persona') tally.own = sign === 1 ? entity : undefined
    if (open) tally.openAlerts += sign
    if (kind !== 'message') return
    tally.messages += sign
    if (unread) tally.unread += sign
    if (sign === 1) tally.ids.add(id)
    else tally.ids.delete(id)
  }

  /** The server's count of urgent mail that is unread, as last journaled. */
  unreadUrgent({ own }: PersonaTally): number | undefined {
    const count = own === undefined ? undefined : this.#payloads.of(own)?.['unread_urgent']
    return isCount(count) ? count : undefined
  }

  /** What a persona calls itself. */
  state({ own }: PersonaTally): string | undefined {
    const state = own === undefined ? undefined : this.#payloads.of(own)?.['state']
    return typeof state === 'string' ? state : undefined
  }
}
