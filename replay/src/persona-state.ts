/** One persona at a moment, as a document shows it. */
import { alertFacts, type Entity, isCount, type JsonObject, type JsonValue } from '@kim/manifest'
import { STALE_MS } from '@kim/observer-sdk/internal'
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

/** What a persona, or somebody who looked after it, could know at a moment. */
export interface PersonaState {
  readonly alerts: readonly OpenAlert[]
  readonly attention: number
  readonly cursor: number | null
  /** The newest record of a live item of its. */
  readonly evidence: { readonly seq: number; readonly ts: string | null } | null
  readonly floor: number | null
  /** By the evidence, its age at that moment, and what the persona's record says. */
  readonly liveness: 'up' | 'down' | 'stale' | 'unknown'
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
  evidence: { seq: number; ts: string | null } | null = null
  unreachable = false
}

/** Every persona that the state has something for, as of a time. */
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
      if (alertFacts(payload).is_outage) all.unreachable = true
      all.alerts.push({
        item_id,
        kind: payload?.['kind'] ?? null,
        reason: payload?.['reason'] ?? null,
        seq,
        ts,
      })
    }
  }
  const names = [...found.keys()].sort()
  return new Map(names.map(name => [name, close(found.get(name) as Gathering, nowMs)]))
}

function close(all: Gathering, nowMs: number): PersonaState {
  const { alerts, attention, own, messages, unread, newest, evidence } = all
  const state = own?.['state']
  return {
    alerts: alerts.sort((a, b) => (a.item_id < b.item_id ? -1 : 1)),
    attention,
    cursor: countIn(own, 'cursor'),
    evidence,
    floor: countIn(own, 'floor'),
    liveness: livenessOf(all, nowMs),
    messages,
    newest_message: newest,
    state: typeof state === 'string' ? state : null,
    unread,
    unread_urgent: countIn(own, 'unread_urgent'),
  }
}

function livenessOf({ own, unreachable, evidence }: Gathering, nowMs: number): PersonaState['liveness'] {
  if (evidence === null) return 'unknown'
  const state = own?.['state']
  if (unreachable || state === 'down') return 'down'
  const age = nowMs - timestampMs(evidence.ts)
  if (Number.isNaN(age)) return 'unknown'
  if (age > STALE_MS) return 'stale'
  return state === 'up' ? 'up' : 'unknown'
}

function countIn(payload: JsonObject | undefined, field: string): number | null {
  const value = payload?.[field]
  return isCount(value) ? value : null
}
