import { field, isSafe, type NaiveRecord } from './line.js'
import type { ActionClasses, Condition } from './rules.js'

export type Effect = 'upsert' | 'remove' | 'activity' | 'meta'

/** What a record does. Without an item_id it can change no state, whatever its verb. */
export function effectOf(record: NaiveRecord, classes: ActionClasses): Effect {
  const behaviour = behaviourOf(record.action, classes)
  const hasPayload = record.payload !== undefined || record.payloadRef !== undefined
  const effect = (hasPayload ? behaviour.with_payload : behaviour.without_payload) as Effect
  const changesState = effect === 'upsert' || effect === 'remove'
  return changesState && record.itemId === undefined ? 'activity' : effect
}

function behaviourOf(
  action: string,
  classes: ActionClasses,
): { with_payload: string; without_payload: string } {
  const exact = Object.hasOwn(classes.verbs, action) ? classes.verbs[action] : undefined
  const wildcard = classes.wildcards.find(one => action.startsWith(one.prefix))?.class
  const name = exact ?? wildcard
  if (name === undefined) return classes.unknown_verb
  return classes.classes[name]!
}

/** The sections a record touches: those of its type if it changes state, the activity feed if it cannot. */
export function sectionsOf(record: NaiveRecord, classes: ActionClasses): string[] {
  const effect = effectOf(record, classes)
  if (effect === 'meta') return []
  if (effect === 'activity') return [classes.activity_section]
  const type = canonicalType(record.itemType, classes)
  return Object.hasOwn(classes.item_types, type) ? classes.item_types[type]!.sections : []
}

export function entersActivity(record: NaiveRecord, classes: ActionClasses): boolean {
  return effectOf(record, classes) === 'activity' || record.event !== undefined
}

/** The wake class of a record that is news, else undefined. */
export function wakeOf(record: NaiveRecord, classes: ActionClasses): string | undefined {
  if (record.event === undefined || classes.never_news.includes(record.action)) return undefined
  const known = Object.hasOwn(classes.wake_classes, record.event)
  return known ? classes.wake_classes[record.event] : classes.unclassified_wake
}

/** How much attention one live entity asks for: one by the item rules, more by the sums. */
export function attentionOf(itemType: string, payload: object, classes: ActionClasses): number {
  const type = canonicalType(itemType, classes)
  const waits = classes.attention.rules.some(
    rule =>
      rule.item_type === type &&
      rule.when.every(one => holds(one, payload)) &&
      !(rule.unless ?? []).some(all => all.every(one => holds(one, payload))),
  )
  let total = waits ? 1 : 0
  for (const sum of classes.attention.sums) {
    const value = field(payload, sum.field)
    if (sum.item_type === type && isSafe(value) && value > 0) total += value
  }
  return total
}

/** An absent field reads as null. */
function holds(condition: Condition, payload: object): boolean {
  const value = field(payload, condition.field) ?? null
  if (condition.one_of !== undefined && !condition.one_of.includes(value)) return false
  if (condition.is_string !== undefined && (typeof value === 'string') !== condition.is_string) return false
  if (condition.begins === undefined) return true
  return typeof value === 'string' && value.startsWith(condition.begins)
}

function canonicalType(itemType: string, classes: ActionClasses): string {
  const aliases = classes.item_type_aliases
  return Object.hasOwn(aliases, itemType) ? aliases[itemType]! : itemType
}
