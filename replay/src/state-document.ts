/** The state at a point as one JSON document: the same bytes for the same journal and point. */
import {
  type Entity,
  entityHash,
  type JsonObject,
  type JsonValue,
  jcs,
  projectionDigest,
} from '@kim/manifest'
import { unknownPersona } from './not-found.js'
import { type PersonaState, personaStates } from './personas.js'
import type { Point, StateAt } from './state-at.js'
import { timestampMs } from './timestamp.js'

/** What `at -o json` prints. Objects in it have no prototype, so that any name can be a key. */
export interface StateDocument {
  /** The last record that counts; null if there is none. */
  readonly at: {
    readonly seq: number
    readonly ts: string | null
    readonly writer: string | null
    readonly segment: string
  } | null
  readonly attention_required: number
  /** The checkpoint that reading began with. */
  readonly base: { readonly file: string; readonly head_seq: number } | null
  /** The projection digest of the whole state, for all personas. */
  readonly digest: string
  /** Live entities by type and id. */
  readonly entities: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>
  readonly entity_count: number
  /** Findings as `verify` names them, in what was read. */
  readonly missing: JsonObject
  readonly personas: Readonly<Record<string, PersonaState>>
  readonly registry_authoritative: boolean
}

/** Lays out a state. Throws `no_persona` for a name that the state does not know. */
export function stateDocument(state: StateAt, personas: readonly string[]): StateDocument {
  const { document, known } = describeState(state, personas)
  for (const name of personas)
    if (!known.has(name)) throw unknownPersona(name, known, state.missing, ' at that point')
  return document
}

/** Lays out a state, with the personas that it knows. */
export function describeState(
  state: StateAt,
  personas: readonly string[],
): { readonly document: StateDocument; readonly known: ReadonlySet<string> } {
  const { reading, base, missing, payloads, point } = state
  const { last, entities: table } = reading
  const nowMs = point.kind === 'time' ? point.ms : timestampMs(last?.ts)
  const all = personaStates(table.images(), payloads, nowMs)
  const isAsked = (owner: string | undefined): boolean =>
    personas.length === 0 || (owner !== undefined && personas.includes(owner))
  let attention = 0
  const digest: { item_type: string; item_id: string; entity_rev: number | undefined; hash: string }[] = []
  const entities = empty<Record<string, JsonObject>>()
  for (const entity of table.images()) {
    const { item_type, item_id, entity_rev } = entity
    const facts = payloads.facts(entity)
    attention += facts.attention
    digest.push({ item_type, item_id, entity_rev, hash: entityHash(entity) })
    if (!isAsked(facts.owner)) continue
    const ofType = entities[item_type] ?? empty<JsonObject>()
    entities[item_type] = ofType
    ofType[item_id] = imageOf(entity)
  }
  const shown = empty<PersonaState>()
  for (const [name, each] of all) if (isAsked(name)) shown[name] = each
  const document: StateDocument = {
    at:
      last === undefined
        ? null
        : { seq: last.seq, ts: last.ts ?? null, writer: last.writer ?? null, segment: last.segment },
    attention_required: attention,
    base: base === undefined ? null : { file: base.document.name, head_seq: base.document.header.head_seq },
    digest: projectionDigest(digest),
    entities,
    entity_count: table.size,
    missing: missing.findings as unknown as JsonObject,
    personas: shown,
    registry_authoritative: reading.registryAuthoritative,
  }
  return { document, known: new Set(all.keys()) }
}

function imageOf({ agent, entity_rev, payload, payload_ref, seq, ts }: Entity): JsonObject {
  const image: Record<string, JsonValue> = { agent: agent ?? null, entity_rev: entity_rev ?? null }
  if (payload_ref === undefined) image['payload'] = payload ?? null
  else image['payload_ref'] = { bytes: payload_ref.bytes, sha256: payload_ref.sha256 }
  return { ...image, seq, ts: ts ?? null }
}

/** An object in which any text can be a key, `__proto__` included. */
function empty<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}

/** The document as text, keys sorted, one entity a line, in pieces: a large state need not be one string. */
export function* stateLines(document: StateDocument): Generator<string> {
  const { at, attention_required, base, digest, entities, entity_count, missing, personas } = document
  yield `{"at":${jcs(at)},\n"attention_required":${attention_required},\n"base":${jcs(base)},\n"digest":"${digest}",\n"entities":{`
  let isFirst = true
  for (const name of Object.keys(entities).sort()) {
    yield `${isFirst ? '' : ','}\n${jcs(name)}:{`
    yield* members(entities[name] ?? {})
    yield '}'
    isFirst = false
  }
  yield `},\n"entity_count":${entity_count},\n"missing":${jcs(missing)},\n"personas":{`
  yield* members(personas)
  yield `},\n"registry_authoritative":${document.registry_authoritative}}\n`
}

function* members(object: Readonly<Record<string, unknown>>): Generator<string> {
  for (const [at, name] of Object.keys(object).sort().entries())
    yield `${at === 0 ? '' : ','}\n${jcs(name)}:${jcs(object[name])}`
}

/** A record that is later by its clock and earlier in the journal. */
export interface LaterRecord {
  readonly seq: number
  readonly ts: string
}

/**
 * If the wall clock was set back, a state can contain records that are later, by their clock, than the time that was asked
 * for. Returns the first such record that the state still shows. Only what is shown is looked at, not the whole journal.
 */
export function laterThanAsked({ entities }: StateDocument, point: Point): LaterRecord | undefined {
  if (point.kind !== 'time') return undefined
  let first: LaterRecord | undefined
  for (const ofType of Object.values(entities)) {
    for (const { seq, ts } of Object.values(ofType)) {
      if (typeof seq !== 'number' || typeof ts !== 'string' || !(timestampMs(ts) > point.ms)) continue
      if (first === undefined || seq < first.seq) first = { seq, ts }
    }
  }
  return first
}
