/** What one persona looks like from the journal: its inbox, its alerts, and whether anything shows that it lives. */
import { alertFacts, isCount, type JsonObject, livenessOf, type ReadRecord } from '@kim/manifest'
import { isPersonal } from './impact.js'
import type { EntityView, State } from './state.js'

/** The record of a message. */
export type MailRecord = ReadRecord & { readonly item_type: 'message'; readonly item_id: string }

/** Whether a record brings a message, not a change of one. A long one has its text in a file: `payloadOf` reads it. */
export function isMail(record: ReadRecord): record is MailRecord {
  const { action, item_id, item_type } = record
  return item_type === 'message' && item_id !== undefined && (action === 'create' || action === 'backfill')
}

/** How many of its newest messages a view holds. */
const NEWEST_MAX = 20

/** The newest record about a persona. */
export interface Evidence {
  readonly seq: number
  readonly ts: string | undefined
  /** How long ago that was, by this machine's clock; absent if the record does not state a time. */
  readonly ageMs: number | undefined
}

/** One persona. */
export interface PersonaView {
  readonly persona: string
  /** False if the journal holds nothing about it. */
  readonly known: boolean
  /** Its unread messages that are live. */
  readonly unread: number
  /** Its newest messages, newest first. */
  readonly newest: readonly EntityView[]
  readonly alerts: readonly EntityView[]
  /** From evidence and its age, never from a status field alone. */
  readonly liveness: 'up' | 'down' | 'stale' | 'unknown'
  readonly evidence: Evidence | undefined
  /** What of it waits for a person: open alerts and urgent unread mail. */
  readonly attention: number
}

/** Personas as the state has them; views are kept until a change touches them. */
export class Roster {
  readonly #state: State
  readonly #now: () => number
  readonly #views = new Map<string, Omit<PersonaView, 'liveness' | 'evidence'> & { readonly seen: Seen }>()
  /** How long the names are that a view was ever made for: few, however many views there are. */
  readonly #lengths = new Set<number>()
  /** The newest record of each persona since the open, activity included. */
  readonly #heard = new Map<string, { readonly seq: number; readonly ts: string | undefined }>()

  constructor(state: State, now: () => number) {
    this.#state = state
    this.#now = now
  }

  /** A record that applied. */
  see({ agent, item_id, item_type, seq, ts }: ReadRecord): void {
    if (agent !== undefined) {
      this.#heard.set(agent, { seq, ts })
      this.#views.delete(agent)
    }
    // The id says whose entity it is: a foreign writer may name no agent, or another one.
    if (item_id === undefined || !isPersonal(item_type)) return
    // A name may itself hold a slash, and an id any number of them: only where a name can end is it looked up.
    for (const length of this.#lengths)
      if (item_id.length === length || item_id[length] === '/') this.#views.delete(item_id.slice(0, length))
  }

  /** Every persona that the journal has a record for. */
  names(): string[] {
    return Array.from(this.#state.values('persona'), ({ itemId }) => itemId).sort()
  }

  view(persona: string): PersonaView {
    const view = this.#views.get(persona) ?? this.#build(persona)
    this.#views.set(persona, view)
    this.#lengths.add(persona.length)
    const { seen, ...rest } = view
    const heard = this.#heard.get(persona)
    const newest = heard !== undefined && heard.seq >= (seen.newest?.seq ?? 0) ? heard : seen.newest
    const evidence = newest === undefined ? undefined : { ...newest, ageMs: this.#ageOf(newest.ts) }
    return {
      ...rest,
      known: rest.known || heard !== undefined,
      liveness: livenessOf(evidence, seen.own, seen.unreachable),
      evidence,
    }
  }

  #build(persona: string): Omit<PersonaView, 'liveness' | 'evidence'> & { readonly seen: Seen } {
    const own = this.#state.get('persona', persona)
    const messages = this.#prefixed('message', persona).toSorted(
      (a, b) => numberOf(b, persona) - numberOf(a, persona),
    )
    const alerts = this.#prefixed('alert', persona).filter(({ payload }) => payload?.['status'] === 'open')
    const urgent = own?.payload?.['unread_urgent']
    const all = [...messages, ...alerts, ...(own === undefined ? [] : [own])]
    return {
      persona,
      known: all.length > 0,
      unread: messages.filter(({ payload }) => payload?.['read'] === false).length,
      newest: kept(messages.slice(0, NEWEST_MAX)),
      alerts: kept(alerts),
      attention: alerts.length + (isCount(urgent) ? urgent : 0),
      seen: {
        newest: newestOf(all),
        own: own?.payload,
        unreachable: alerts.some(({ payload }) => alertFacts(payload).is_outage),
      },
    }
  }

  /** The entities of a type whose id says that they are this persona's. */
  #prefixed(itemType: string, persona: string): EntityView[] {
    const found: EntityView[] = []
    for (const view of this.#state.startingWith(`${persona}/`, itemType)) {
      // A name may itself hold a slash: the payload decides.
      if ((view.payload?.['persona'] ?? persona) === persona) found.push(view)
    }
    return found
  }

  #ageOf(ts: string | undefined): number | undefined {
    const time = ts === undefined ? Number.NaN : Date.parse(ts)
    return Number.isNaN(time) ? undefined : Math.max(0, this.#now() - time)
  }
}

interface Seen {
  readonly newest: { readonly seq: number; readonly ts: string | undefined } | undefined
  readonly own: JsonObject | undefined
  readonly unreachable: boolean
}

/** Views that are given out more than once: no host may change them, or what they show. */
function kept(views: EntityView[]): readonly EntityView[] {
  for (const { payload } of views) deepFreeze(payload)
  return Object.freeze(views)
}

function numberOf({ itemId }: EntityView, persona: string): number {
  return Number(itemId.slice(persona.length + 1)) || 0
}

function newestOf(views: readonly EntityView[]): Seen['newest'] {
  let newest: Seen['newest']
  for (const { seq = 0, ts } of views) if (newest === undefined || seq > newest.seq) newest = { seq, ts }
  return newest
}

/** Makes a parsed value unchangeable at every depth: state and hand-over share one object. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const key in value) {
    const inner = value[key]
    if (typeof inner === 'object') deepFreeze(inner)
  }
  return Object.freeze(value)
}
