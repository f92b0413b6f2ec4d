/** What is known of each persona: as a document shows it at one point, and kept up to date record by record. */
import { alertFacts, type Entity, isCount, type JsonObject, type JsonValue, livenessOf } from '@kim/manifest'
import type { Payloads } from './payloads.js'
import { timestampMs } from './timestamp.js'

/** An alert that is open. */
interface OpenAlert {
  readonly item_id: string
  readonly kind: JsonValue
  readonly reason: JsonValue
  /** The record that made it what it is. */
  readonly seq: number
  readonly ts: string | null
}

/** What a persona, or somebody who looked after it, could know at a point. */
export interface PersonaState {
  readonly alerts: readonly OpenAlert[]
  readonly attention: number
  readonly cursor: number | null
  /** The newest record of a live entity of its. */
  readonly evidence: { readonly seq: number; readonly ts: string | null } | null
  readonly floor: number | null
  /** By the evidence, its age at that time, and what the persona's record says. */
  readonly liveness: ReturnType<typeof livenessOf>
  readonly messages: number
  readonly newest_message: number | null
  readonly state: string | null
  readonly unread: number
  readonly unread_urgent: number | null
}

class Gathering {
  readonly alerts: OpenAlert[] = []
  attention = 0
  own: JsonObject | undefined
  messages = 0
  unread = 0
  newest: number | null = null
  evidence: PersonaState['evidence'] = null
  isUnreachable = false

  close(nowMs: number): PersonaState {
    const { alerts, attention, own, messages, unread, newest, evidence } = this
    const age = nowMs - timestampMs(evidence?.ts)
    const seen = evidence === null ? undefined : { ageMs: Number.isNaN(age) ? undefined : age }
    return {
      alerts: alerts.sort((a, b) => (a.item_id < b.item_id ? -1 : 1)),
      attention,
      cursor: countIn(own, 'cursor'),
      evidence,
      floor: countIn(own, 'floor'),
      liveness: livenessOf(seen, own, this.isUnreachable),
      messages,
      newest_message: newest,
      state: stateIn(own),
      unread,
      unread_urgent: countIn(own, 'unread_urgent'),
    }
  }
}

/** Every persona that the state has something for, as of a time, by name. */
export function personaStates(
  entities: Iterable<Entity>,
  payloads: Payloads,
  nowMs: number,
): Map<string, PersonaState> {
  const found = new Map<string, Gathering>()
  for (const entity of entities) {
    const facts = payloads.facts(entity)
    if (facts.owner === undefined) continue
    const all = found.get(facts.owner) ?? new Gathering()
    found.set(facts.owner, all)
    const { seq, ts = null, item_id } = entity
    all.attention += facts.attention
    if (all.evidence === null || seq > all.evidence.seq) all.evidence = { seq, ts }
    if (facts.kind === 'persona') all.own = payloads.of(entity)
    if (facts.kind === 'message') {
      all.messages += 1
      if (facts.unread) all.unread += 1
      all.newest = Math.max(all.newest ?? facts.id, facts.id)
    }
    if (facts.open) {
      const payload = payloads.of(entity)
      const [kind, reason] = [payload?.['kind'] ?? null, payload?.['reason'] ?? null]
      if (alertFacts(payload).is_outage) all.isUnreachable = true
      all.alerts.push({ item_id, kind, reason, seq, ts })
    }
  }
  return new Map([...found.keys()].sort().map(name => [name, (found.get(name) as Gathering).close(nowMs)]))
}

function countIn(payload: JsonObject | undefined, field: string): number | null {
  const value = payload?.[field]
  return isCount(value) ? value : null
}

function stateIn(payload: JsonObject | undefined): string | null {
  const state = payload?.['state']
  return typeof state === 'string' ? state : null
}

/** One persona, counted. */
class PersonaTally {
  messages = 0
  unread = 0
  openAlerts = 0
  attention = 0
  /** Its `persona` entity. */
  own: Entity | undefined
  /** Live entities of its. */
  entities = 0
  readonly ids: LiveIds = new LiveIds()
}

/** Every persona that the state has something for, as of the last record. */
export class PersonaLedger {
  readonly #payloads: Payloads
  readonly #tallies = new Map<string, PersonaTally>()
  /** How many things wait for a person. */
  attention = 0

  constructor(payloads: Payloads, entities: Iterable<Entity> = []) {
    this.#payloads = payloads
    for (const entity of entities) this.change(undefined, entity)
  }

  /** The names of all personas that ever had something. */
  get everybody(): string[] {
    return [...this.#tallies.keys()].sort()
  }

  get(persona: string): PersonaTally | undefined {
    const tally = this.#tallies.get(persona)
    return tally === undefined || tally.entities === 0 ? undefined : tally
  }

  /** The server's count of urgent mail that is unread, as last journaled. */
  unreadUrgent(persona: string): number | null {
    return countIn(this.#own(persona), 'unread_urgent')
  }

  /** What a persona calls itself. */
  state(persona: string): string | null {
    return stateIn(this.#own(persona))
  }

  /** One entity is another one now. */
  change(before: Entity | undefined, after: Entity | undefined): void {
    if (before !== undefined) this.#count(before, -1)
    if (after !== undefined) this.#count(after, 1)
  }

  #own(persona: string): JsonObject | undefined {
    const own = this.get(persona)?.own
    return own === undefined ? undefined : this.#payloads.of(own)
  }

  #count(entity: Entity, sign: 1 | -1): void {
    const { owner, kind, unread, id, open, attention } = this.#payloads.facts(entity)
    this.attention += sign * attention
    if (owner === undefined) return
    const tally = this.#tallies.get(owner) ?? new PersonaTally()
    this.#tallies.set(owner, tally)
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
}

/** Numbers of the live messages of one persona, and which is the highest. */
class LiveIds {
  readonly #times = new Map<number, number>()
  /** Ascending. Removed ones stay until they would be the highest. */
  readonly #order: number[] = []

  add(id: number): void {
    this.#times.set(id, (this.#times.get(id) ?? 0) + 1)
    // They mostly come in ascending order.
    if (id > (this.#order.at(-1) ?? Number.NEGATIVE_INFINITY)) this.#order.push(id)
    else {
      const at = this.#placeOf(id)
      if (this.#order[at] !== id) this.#order.splice(at, 0, id)
    }
  }

  delete(id: number): void {
    const times = (this.#times.get(id) ?? 0) - 1
    if (times > 0) this.#times.set(id, times)
    else this.#times.delete(id)
  }

  /** 0 if there is none. */
  get highest(): number {
    for (;;) {
      const id = this.#order.at(-1)
      if (id === undefined) return 0
      if (this.#times.has(id)) return id
      this.#order.pop()
    }
  }

  /** The index that an id has, or should have. */
  #placeOf(id: number): number {
    let low = 0
    let high = this.#order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#order[middle] as number) < id) low = middle + 1
      else high = middle
    }
    return low
  }
}
