import {
  actionClasses,
  canonicalType,
  type Effect,
  effectOf,
  isRegistryGenesis,
  type ReadRecord,
  sectionsOf,
} from '@kim/manifest'

/** What a change made stale: nothing more, and nothing less. Each list is sorted. */
export interface Impact {
  readonly itemTypes: readonly string[]
  readonly sections: readonly string[]
  readonly personas: readonly string[]
  /** The number of things that wait for a person may have changed, whatever the sections are. */
  readonly attentionChanged: boolean
}

/** The types of the entities that what waits for a person depends on; an alias stands for one of them. */
export const ATTENTION_TYPES: ReadonlySet<string> = new Set(
  [...actionClasses.attention.rules, ...actionClasses.attention.sums].map(rule => rule.item_type),
)

/**
 * Whose inbox or alerts the entity of a record stands in. The record names somebody besides, but a foreign writer may
 * name none, or another.
 */
function ownerOf({ item_id, item_type, payload }: ReadRecord, effect: Effect): string | undefined {
  if (effect === 'activity' || item_id === undefined || !isPersonal(item_type)) return undefined
  if (item_type === 'persona') return item_id
  const stated = payload?.['persona']
  if (typeof stated === 'string' && item_id[stated.length] === '/' && item_id.startsWith(stated))
    return stated
  const slash = item_id.lastIndexOf('/')
  return slash > 0 ? item_id.slice(0, slash) : undefined
}

/** The sections of the board that entities of a type are in. */
export function sectionsOfType(itemType: string): readonly string[] {
  return sorted(sectionsOf({ action: 'update', item_type: itemType, item_id: 'any', payload: {} }))
}

/** Whether entities of a type make up the views of personas. */
export function isPersonal(itemType: string): boolean {
  return itemType === 'message' || itemType === 'alert' || itemType === 'persona'
}

/** Gathers impacts until somebody takes them. */
export class ImpactSet {
  readonly #itemTypes = new Set<string>()
  readonly #sections = new Set<string>()
  readonly #personas = new Set<string>()
  #attentionChanged = false
  /** The newest record: those of a burst are mostly about one inbox, and add nothing to it. */
  #last: { readonly of: ReadRecord; readonly effect: Effect; readonly owner: string | undefined } | undefined

  /** True if nothing was gathered. */
  get isEmpty(): boolean {
    const { itemTypes, sections, personas, attentionChanged } = this.toImpact()
    return !attentionChanged && itemTypes.length + sections.length + personas.length === 0
  }

  /** A record that applied. Notes of the journal about itself make nothing stale. */
  addRecord(record: ReadRecord): void {
    const effect = effectOf(record)
    if (isRegistryGenesis(record)) this.#attentionChanged = true
    if (effect === 'meta') return
    const owner = ownerOf(record, effect)
    const last = this.#last
    const isAlike = last?.effect === effect && last.owner === owner
    if (isAlike && last.of.agent === record.agent && last.of.item_type === record.item_type) return
    this.#last = { of: record, effect, owner }
    if (effect !== 'activity') this.#touch(record.item_type)
    for (const section of sectionsOf(record)) this.#sections.add(section)
    if (record.agent !== undefined) this.#personas.add(record.agent)
    if (owner !== undefined) this.#personas.add(owner)
  }

  /** Entities of a type whose images changed without a record: they were derived anew. */
  addType(itemType: string): void {
    this.#touch(itemType)
    for (const section of sectionsOfType(itemType)) this.#sections.add(section)
  }

  /** Takes over what another has gathered. */
  addAll({ itemTypes, sections, personas, attentionChanged }: Impact): void {
    for (const type of itemTypes) this.#touch(type)
    if (attentionChanged) this.#attentionChanged = true
    for (const section of sections) this.#sections.add(section)
    for (const persona of personas) this.#personas.add(persona)
  }

  /** What was gathered. */
  toImpact(): Impact {
    return {
      itemTypes: sorted(this.#itemTypes),
      sections: sorted(this.#sections),
      personas: sorted(this.#personas),
      attentionChanged: this.#attentionChanged,
    }
  }

  #touch(itemType: string): void {
    this.#itemTypes.add(itemType)
    if (ATTENTION_TYPES.has(canonicalType(itemType))) this.#attentionChanged = true
  }
}

function sorted(names: Iterable<string>): string[] {
  return Array.from(names).sort()
}
