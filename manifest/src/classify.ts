import type { JsonObject, JsonValue, PayloadRef, ReadRecord } from './envelope.js'
import { isCount } from './envelope.js'
import { actionClasses } from './generated/action-classes.js'
import type { ActionClass, Effect, Section, WakeClass } from './kinds.js'

interface Condition {
  readonly field: string
  /** `null` also stands for a field that is absent. */
  readonly one_of?: readonly JsonValue[]
  readonly is_string?: boolean
  readonly begins?: string
}

interface AttentionRule {
  readonly item_type: string
  readonly when: readonly Condition[]
  readonly unless?: readonly (readonly Condition[])[]
}

interface ByPayload {
  readonly with_payload: Effect
  readonly without_payload: Effect
}

/** What `action-classes.json` says. */
export interface ManifestData {
  readonly classes: Readonly<Record<ActionClass, ByPayload>>
  readonly verbs: Readonly<Record<string, ActionClass>>
  readonly wildcards: readonly { readonly prefix: string; readonly class: ActionClass }[]
  readonly unknown_verb: ByPayload
  readonly activity_section: Section
  readonly item_types: Readonly<
    Record<string, { readonly sections: readonly Section[]; readonly forgets_revision?: boolean }>
  >
  readonly item_type_aliases: Readonly<Record<string, string>>
  readonly attention: {
    readonly rules: readonly AttentionRule[]
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

/** The manifest as functions. */
export interface Classifier {
  /** The class of a verb: its own, else its wildcard's, else none. */
  classOf(action: string): ActionClass | undefined
  /** What a record does to the state. Without an `item_id` it can change none. */
  effectOf(record: Classifiable): Effect
  /** The sections of the board that a record makes stale. */
  sectionsOf(record: Classifiable): readonly Section[]
  /** Whether an event wakes; an unknown one does. */
  wakeClassOf(event: string): WakeClass
  /** How often a sink tries an event that it refuses; `Infinity` for mail. */
  deliveryTriesOf(event: string): number
  /** True if the record announces something. */
  isNews(record: Classifiable): boolean
  /** True if the record belongs in the activity ring. */
  entersActivity(record: Classifiable): boolean
  /** How many things wait for a person. */
  attentionOf(entities: Iterable<AttentionEntity>): number
  /** True if a deleted entity of this type never comes back, so that its revision need not be kept. */
  forgetsRevision(itemType: string): boolean
  /** True if the record makes the journal the authority for the registry families. */
  isRegistryGenesis(record: Classifiable): boolean
  /** True if the journal, once authoritative, covers this item type. */
  isRegistryFamily(itemType: string): boolean
}

function holds(payload: JsonObject, condition: Condition): boolean {
  const value = Object.hasOwn(payload, condition.field) ? (payload[condition.field] ?? null) : null
  const { one_of: oneOf, is_string: isString, begins } = condition
  if (oneOf !== undefined && !oneOf.includes(value)) return false
  if (isString !== undefined && (typeof value === 'string') !== isString) return false
  return begins === undefined || (typeof value === 'string' && value.startsWith(begins))
}

function meets(payload: JsonObject, rule: AttentionRule): boolean {
  const all = (conditions: readonly Condition[]): boolean => conditions.every(c => holds(payload, c))
  return all(rule.when) && !(rule.unless ?? []).some(all)
}

/** Turns manifest data into functions; what a record holds never reaches a prototype. */
export function createClassifier(data: ManifestData): Classifier {
  const verbs = new Map(Object.entries(data.verbs))
  const types = new Map(Object.entries(data.item_types))
  const aliases = new Map(Object.entries(data.item_type_aliases))
  const wakes = new Map(Object.entries(data.wake_classes))
  const deliveredAs = new Map(Object.entries(data.delivered_as))
  const wakeClassOf = (event: string): WakeClass => wakes.get(event) ?? data.unclassified_wake
  const neverNews = new Set(data.never_news)
  const families = new Set(data.registry.families)
  const activitySections: readonly Section[] = [data.activity_section]
  const canonical = (itemType: string): string => aliases.get(itemType) ?? itemType

  const classOf = (action: string): ActionClass | undefined =>
    verbs.get(action) ?? data.wildcards.find(w => action.startsWith(w.prefix))?.class

  const effectOf = (record: Classifiable): Effect => {
    const actionClass = classOf(record.action)
    const rule = actionClass === undefined ? data.unknown_verb : data.classes[actionClass]
    const hasPayload = record.payload !== undefined || record.payload_ref !== undefined
    const effect = hasPayload ? rule.with_payload : rule.without_payload
    return record.item_id === undefined && (effect === 'upsert' || effect === 'remove') ? 'activity' : effect
  }

  return {
    classOf,
    effectOf,
    sectionsOf(record) {
      const effect = effectOf(record)
      if (effect === 'meta') return []
      return effect === 'activity'
        ? activitySections
        : (types.get(canonical(record.item_type))?.sections ?? [])
    },
    wakeClassOf,
    deliveryTriesOf: event =>
      data.delivery_tries[deliveredAs.get(event) ?? wakeClassOf(event)] ?? Number.POSITIVE_INFINITY,
    isNews: record => record.event !== undefined && !neverNews.has(record.action),
    entersActivity: record => record.event !== undefined || effectOf(record) === 'activity',
    attentionOf(entities) {
      let count = 0
      for (const { item_type: itemType, payload } of entities) {
        if (payload === undefined) continue
        const type = canonical(itemType)
        if (data.attention.rules.some(rule => rule.item_type === type && meets(payload, rule))) count++
        for (const sum of data.attention.sums) {
          const value = Object.hasOwn(payload, sum.field) ? payload[sum.field] : undefined
          if (sum.item_type === type && isCount(value)) count += value
        }
      }
      return count
    },
    forgetsRevision: itemType => types.get(itemType)?.forgets_revision === true,
    isRegistryGenesis: record =>
      record.action === 'journal_note' && record.payload?.['kind'] === data.registry.genesis_note,
    isRegistryFamily: itemType => families.has(canonical(itemType)),
  }
}

/** The manifest's own classifier. */
const classifier: Classifier = createClassifier(actionClasses)

/** {@link Classifier.classOf} by the manifest. */
export const classOf: Classifier['classOf'] = classifier.classOf
/** {@link Classifier.effectOf} by the manifest. */
export const effectOf: Classifier['effectOf'] = classifier.effectOf
/** {@link Classifier.sectionsOf} by the manifest. */
export const sectionsOf: Classifier['sectionsOf'] = classifier.sectionsOf
/** {@link Classifier.wakeClassOf} by the manifest. */
export const wakeClassOf: Classifier['wakeClassOf'] = classifier.wakeClassOf
/** {@link Classifier.deliveryTriesOf} by the manifest. */
export const deliveryTriesOf: Classifier['deliveryTriesOf'] = classifier.deliveryTriesOf
/** {@link Classifier.isNews} by the manifest. */
export const isNews: Classifier['isNews'] = classifier.isNews
/** {@link Classifier.entersActivity} by the manifest. */
export const entersActivity: Classifier['entersActivity'] = classifier.entersActivity
/** {@link Classifier.attentionOf} by the manifest. */
export const attentionOf: Classifier['attentionOf'] = classifier.attentionOf
/** {@link Classifier.forgetsRevision} by the manifest. */
export const forgetsRevision: Classifier['forgetsRevision'] = classifier.forgetsRevision
/** {@link Classifier.isRegistryGenesis} by the manifest. */
export const isRegistryGenesis: Classifier['isRegistryGenesis'] = classifier.isRegistryGenesis
/** {@link Classifier.isRegistryFamily} by the manifest. */
export const isRegistryFamily: Classifier['isRegistryFamily'] = classifier.isRegistryFamily
