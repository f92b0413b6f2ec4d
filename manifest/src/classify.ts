import {
  type AccountAlertKind,
  type ActionClass,
  type AlertKind,
  actionClasses,
  type Section,
  type Verb,
  type WakeClass,
} from './generated/action-classes.js'
import { isCount, type JsonObject, type JsonValue } from './json.js'
import type { PayloadRef, ReadRecord } from './record.js'

/** What a record does to a reader's state. */
export type Effect = 'upsert' | 'remove' | 'activity' | 'meta'

interface Condition {
  readonly field: string
  /** `null` also matches a field that is absent. */
  readonly one_of?: readonly JsonValue[]
  readonly is_string?: boolean
  readonly begins?: string
}

/** Which payloads are meant. */
interface PayloadRule {
  readonly when: readonly Condition[]
  readonly unless?: readonly (readonly Condition[])[]
}

interface ByPayload {
  readonly with_payload: Effect
  readonly without_payload: Effect
}

/** What `action-classes.json` says about records. */
interface ManifestData {
  readonly classes: Readonly<Record<ActionClass, ByPayload>>
  readonly verbs: Readonly<Record<Verb, ActionClass>>
  readonly wildcards: readonly { readonly prefix: string; readonly class: ActionClass }[]
  readonly unknown_verb: ByPayload
  readonly activity_section: Section
  readonly item_types: Readonly<
    Record<
      string,
      {
        readonly sections: readonly Section[]
        readonly counted?: PayloadRule
        readonly forgets_revision?: boolean
      }
    >
  >
  readonly item_type_aliases: Readonly<Record<string, string>>
  readonly attention: {
    readonly rules: readonly (PayloadRule & { readonly item_type: string })[]
    readonly sums: readonly { readonly item_type: string; readonly field: string }[]
  }
  readonly registry: { readonly genesis_note: string; readonly families: readonly string[] }
  readonly wake_classes: Readonly<Record<string, WakeClass>>
  readonly unclassified_wake: WakeClass
  /** How often a sink tries an event that it refuses, by wake class; `null`: until the sink takes it (KS-72). */
  readonly delivery_tries: Readonly<Record<WakeClass, number | null>>
  /** Events that are tried as often as those of another class. */
  readonly delivered_as: Readonly<Record<string, WakeClass>>
  readonly never_news: readonly string[]
  readonly alert_kinds: Readonly<Record<AlertKind, AlertFacts>>
}

/** The fields of a record that decide what it does. */
export type Classifiable = Pick<
  ReadRecord,
  'action' | 'item_type' | 'item_id' | 'event' | 'payload' | 'payload_ref'
>

/** An entity as the attention rule sees it; one whose payload is not at hand meets no rule. */
export interface AttentionEntity {
  readonly item_type: string
  readonly payload?: JsonObject | undefined
  readonly payload_ref?: PayloadRef | undefined
}

function holds(payload: JsonObject, condition: Condition): boolean {
  const value = Object.hasOwn(payload, condition.field) ? (payload[condition.field] ?? null) : null
  const { one_of: oneOf, is_string: isString, begins } = condition
  if (oneOf !== undefined && !oneOf.includes(value)) return false
  if (isString !== undefined && (typeof value === 'string') !== isString) return false
  return begins === undefined || (typeof value === 'string' && value.startsWith(begins))
}

function meets(payload: JsonObject, rule: PayloadRule): boolean {
  const all = (conditions: readonly Condition[]): boolean => conditions.every(c => holds(payload, c))
  return all(rule.when) && !(rule.unless ?? []).some(all)
}

const data: ManifestData = actionClasses
// Maps, so that a name in a record never reaches a prototype.
const verbs = new Map<string, ActionClass>(Object.entries(data.verbs))
const types = new Map(Object.entries(data.item_types))
const aliases = new Map(Object.entries(data.item_type_aliases))
const wakes = new Map(Object.entries(data.wake_classes))
const deliveredAs = new Map(Object.entries(data.delivered_as))
const neverNews = new Set(data.never_news)
const families = new Set(data.registry.families)
const activitySections: readonly Section[] = [data.activity_section]

/** The item type that a name stands for: an alias is another name of one. */
export function canonicalType(itemType: string): string {
  return aliases.get(itemType) ?? itemType
}

/** Whether an entity counts in the sections of its type (OB-74). One whose payload is not at hand counts nowhere that has a rule. */
export function isCounted({ item_type: itemType, payload }: AttentionEntity): boolean {
  const rule = types.get(canonicalType(itemType))?.counted
  return rule === undefined || (payload !== undefined && meets(payload, rule))
}

/** The class of a verb: its own, else its wildcard's, else none. */
export function classOf(action: string): ActionClass | undefined {
  return verbs.get(action) ?? data.wildcards.find(w => action.startsWith(w.prefix))?.class
}

/** What a record does to the state. Without an `item_id` it can change none. */
export function effectOf(record: Classifiable): Effect {
  const actionClass = classOf(record.action)
  const rule = actionClass === undefined ? data.unknown_verb : data.classes[actionClass]
  const hasPayload = record.payload !== undefined || record.payload_ref !== undefined
  const effect = hasPayload ? rule.with_payload : rule.without_payload
  return record.item_id === undefined && (effect === 'upsert' || effect === 'remove') ? 'activity' : effect
}

/** The sections of the board that a record makes stale. */
export function sectionsOf(record: Classifiable): readonly Section[] {
  const effect = effectOf(record)
  if (effect === 'meta') return []
  if (effect === 'activity') return activitySections
  return types.get(canonicalType(record.item_type))?.sections ?? []
}

/** Whether an event wakes; an unknown one does. */
export function wakeClassOf(event: string): WakeClass {
  return wakes.get(event) ?? data.unclassified_wake
}

/** How often a sink tries an event that it refuses; `Infinity` for mail. */
export function deliveryTriesOf(event: string): number {
  return data.delivery_tries[deliveredAs.get(event) ?? wakeClassOf(event)] ?? Number.POSITIVE_INFINITY
}

/** True if the record announces something. */
export function isNews(record: Classifiable): boolean {
  return record.event !== undefined && !neverNews.has(record.action)
}

/** True if the record belongs in the activity ring. */
export function entersActivity(record: Classifiable): boolean {
  return record.event !== undefined || effectOf(record) === 'activity'
}

/** A persona that calls itself up is stale if its newest record is older. */
const STALE_MS = 60 * 60 * 1000

/**
 * Whether a persona runs: by the age of its newest record, what it says of itself, and whether it is unreachable, never by a
 * status field alone. `evidence` is undefined if it has no record; its age is if that record states no time.
 */
export function livenessOf(
  evidence: { readonly ageMs: number | undefined } | undefined,
  own: JsonObject | undefined,
  isUnreachable: boolean,
): 'up' | 'down' | 'stale' | 'unknown' {
  if (evidence === undefined) return 'unknown'
  const state = own?.['state']
  if (isUnreachable || state === 'down') return 'down'
  if (evidence.ageMs === undefined) return 'unknown'
  if (evidence.ageMs > STALE_MS) return 'stale'
  return state === 'up' ? 'up' : 'unknown'
}

/** How many things wait for a person. */
export function attentionOf(entities: Iterable<AttentionEntity>): number {
  let count = 0
  for (const { item_type: itemType, payload } of entities) {
    if (payload === undefined) continue
    const type = canonicalType(itemType)
    if (data.attention.rules.some(rule => rule.item_type === type && meets(payload, rule))) count++
    for (const sum of data.attention.sums) {
      const value = Object.hasOwn(payload, sum.field) ? payload[sum.field] : undefined
      if (sum.item_type === type && isCount(value)) count += value
    }
  }
  return count
}

/** True if a deleted entity of this type never comes back, so that its revision need not be kept. */
export function forgetsRevision(itemType: string): boolean {
  return types.get(itemType)?.forgets_revision === true
}

/** True if the record makes the journal the authority for the registry families. */
export function isRegistryGenesis(record: Classifiable): boolean {
  return record.action === 'journal_note' && record.payload?.['kind'] === data.registry.genesis_note
}

/** True if the journal, once authoritative, covers this item type. */
export function isRegistryFamily(itemType: string): boolean {
  return families.has(canonicalType(itemType))
}

/** What the manifest says about a kind of alert. */
export interface AlertFacts {
  readonly meaning: string
  /** The member that lists inboxes, in an alert about the account as a whole. */
  readonly names_in?: string
  /** The inbox is out of reach while such an alert is open. */
  readonly is_outage?: boolean
  /** The inbox has a gap while such an alert is open. */
  readonly is_gap?: boolean
  /** It is shown like an urgent message. */
  readonly is_urgent?: boolean
}

/** The kinds of alerts, by name. */
export const alertKinds: ReadonlyMap<string, AlertFacts> = new Map(Object.entries(data.alert_kinds))

/** True for a kind of the manifest. */
export function isAlertKind(kind: unknown): kind is AlertKind {
  return typeof kind === 'string' && alertKinds.has(kind)
}

/** True for a kind that is about the account as a whole. */
export function isAccountAlertKind(kind: unknown): kind is AccountAlertKind {
  return typeof kind === 'string' && alertKinds.get(kind)?.names_in !== undefined
}

/** What the manifest says about the kind in the payload of an alert; nothing if it does not know the kind. */
export function alertFacts(payload: JsonObject | undefined): Partial<AlertFacts> {
  const kind = payload?.['kind']
  return (typeof kind === 'string' ? alertKinds.get(kind) : undefined) ?? {}
}
