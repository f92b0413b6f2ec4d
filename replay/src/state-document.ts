/** The state at a moment as one JSON document: the same bytes for the same journal and moment. */
import { type Entity, entityHash, type JsonObject, type JsonValue, projectionDigest } from '@kim/manifest'
import { unknownPersona } from './not-found.js'
import { type PersonaState, personaStates } from './persona-state.js'
import type { StateAt } from './state-at.js'
import { timestampMs } from './timestamp.js'

/** What `at -o json` prints. Objects in it have no prototype: a name is a name. */
export interface StateDocument {
  /** The last record that counts; null where none does. */
  readonly at: {
    readonly seq: number
    readonly ts: string | null
    readonly writer: string | null
    readonly segment: string
  } | null
  readonly attention_required: number
  /** The checkpoint that reading began with. */
  readonly base: { readonly file: string; readonly head_seq: number } | null
  /** The projection digest of the whole state, whoever was asked about. */
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
  for (const name of personas) if (!known.has(name)) throw unknownPersona(name, known, state.missing)
  return document
}

/** Lays out a state, and says whom it knows. */
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

/** An object in which any key is a key of its own, `__proto__` included. */
function empty<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}
