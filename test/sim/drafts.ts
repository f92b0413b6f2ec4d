import type { JsonObject } from '@kim/manifest'
import type { Draft } from '@kim/producer/internal'
import type { Prng } from '../kit/index.js'
import type { Oracle } from './oracle.js'

const personas = ['river', 'argus', 'loom/second'] as const
const blobBytes = 66_000

/** What callers ask for in one seed: drafts that fit the state as the oracle knows it. */
export class Drafts {
  readonly #random: Prng
  readonly #oracle: Oracle
  readonly #used: string[] = []
  #marks = 0
  #messages = 0
  #keys = 0

  constructor(random: Prng, oracle: Oracle) {
    this.#random = random
    this.#oracle = oracle
  }

  /** One draft, with a mark that no other has; `keyed` ones may bear a key. */
  next(keyed: boolean): Draft {
    const random = this.#random
    const mark = ++this.#marks
    const draft = this.#kind(mark)
    const base = { ...draft, summary: `#${mark}` }
    if (keyed && random.chance(0.3))
      return { ...base, key: this.#key(), actor: { kind: 'agent', name: 'river' } }
    return base
  }

  #key(): string {
    const random = this.#random
    if (this.#used.length > 0 && random.chance(0.45)) return random.pick(this.#used)
    const key = `k${++this.#keys}`
    this.#used.push(key)
    return key
  }

  #kind(mark: number): Omit<Draft, 'summary'> {
    const kind = this.#random.weighted({
      message: 8,
      read: 9,
      persona: 3,
      pin: 0.5,
      gate: 4,
      remove: 2,
      activity: 1,
      assignment: 1,
    })
    const agent = this.#random.pick(personas)
    switch (kind) {
      case 'message':
        return this.#message(agent, mark)
      case 'read':
        return this.#read() ?? this.#message(agent, mark)
      case 'persona':
        return upsert(agent, 'update', 'persona', agent, {
          ...{ schema_version: 1, persona: agent, cursor: 0, floor: 0, state: 'up', watched: true },
          unread_urgent: mark,
          ...this.#knownFrom(agent),
        })
      case 'pin':
        return this.#pin(agent)
      case 'gate':
        return upsert(agent, 'update', 'gate', `gate-${this.#random.int(6)}`, {
          schema_version: 1,
          ...this.#body(mark),
        })
      case 'remove':
        return this.#remove(agent)
      case 'activity':
        return { agent, action: 'session_start', item_type: 'agent_session', item_id: `s${mark % 3}` }
      case 'assignment':
        return upsert(agent, 'assignment_created', 'assignment', `a${this.#random.int(3)}`, {
          schema_version: 1,
          status: 'pending',
          n: mark,
        })
    }
  }

  #body(mark: number): JsonObject {
    const random = this.#random
    if (random.chance(0.04)) return { n: 0, text: 'b'.repeat(blobBytes + random.int(2)) }
    return { n: mark, text: random.chance(0.1) ? 'é\u2028"\\\u0000'.repeat(8) : 'x'.repeat(random.int(90)) }
  }

  #message(persona: string, mark: number): Omit<Draft, 'summary'> {
    const id = ++this.#messages
    const { text } = this.#body(mark)
    const payload = {
      ...{
        schema_version: 1,
        persona,
        id,
        from: 'argus',
        content: text,
        content_length: String(text).length,
      },
      ...{ created: null, read: this.#random.chance(0.3) },
    } as JsonObject
    const event = this.#random.chance(0.6) ? { event: 'new' } : {}
    return { ...upsert(persona, 'create', 'message', `${persona}/${id}`, payload), ...event }
  }

  /** An unread message is read. Only a live message is ever updated. */
  #read(): Omit<Draft, 'summary'> | undefined {
    const unread = [...this.#oracle.live.values()].filter(
      ({ type, payload }) => type === 'message' && payload['read'] === false,
    )
    if (unread.length === 0) return undefined
    const { id, payload } = this.#random.pick(unread)
    return upsert(String(payload['persona']), 'update', 'message', id, { ...payload, read: true })
  }

  #pin(persona: string): Omit<Draft, 'summary'> {
    const isOpen = this.#random.chance(0.5)
    const at = this.#random.int(this.#messages + 1)
    return upsert(persona, 'update', 'alert', `${persona}/bounded-window`, {
      ...{
        schema_version: 1,
        persona,
        kind: 'bounded-window',
        status: isOpen ? 'open' : 'cleared',
        reason: 'walk',
      },
      ...{ omitted: 1, window_floor: 1, cursor_at: at, reconciled: 0, pinned: true },
      walk: { next_before_id: 1, proven_down_to: 1 },
    })
  }

  /** Retention says from where on messages are known; a caller keeps that. */
  #knownFrom(persona: string): JsonObject {
    const known = this.#oracle.live.get(`persona ${persona}`)?.payload['known_from']
    return known === undefined ? {} : { known_from: known }
  }

  #remove(agent: string): Omit<Draft, 'summary'> {
    const gone = [...this.#oracle.live.values()].filter(
      ({ type }) => type === 'gate' || type === 'assignment',
    )
    if (gone.length === 0) return { agent, action: 'session_end', item_type: 'agent_session', item_id: 's0' }
    const { type, id } = this.#random.pick(gone)
    return { agent, action: 'delete', item_type: type, item_id: id }
  }
}

function upsert(
  agent: string,
  action: string,
  item_type: string,
  item_id: string,
  payload: JsonObject,
): Omit<Draft, 'summary'> {
  return { agent, action, item_type, item_id, payload }
}
