import { type Effect, effectOf, type ReadRecord, sectionsOf } from '@kim/manifest'

/** What a change made stale: nothing more, and nothing less. Each list is sorted. */
export interface Impact {
  readonly itemTypes: readonly string[]
  readonly sections: readonly string[]
  readonly personas: readonly string[]
}

const NOTHING: Impact = { itemTypes: [], sections: [], personas: [] }

/** What one record makes stale: most changes are of one, and whoever waits for it waits for this too. */
export function impactOf(record: ReadRecord): Impact {
  const effect = effectOf(record)
  if (effect === 'meta') return NOTHING
  return {
    itemTypes: effect === 'activity' ? [] : [record.item_type],
    sections: sorted(sectionsOf(record)),
    personas: sorted(new Set(personasOf(record, effect))),
  }
}

/**
 * Whom a record is about: the persona it names, and the one whose inbox or alerts its entity stands in. A foreign
 * writer may name none, or another.
 */
function* personasOf(
  { agent, item_id, item_type, payload }: ReadRecord,
  effect: Effect,
): Generator<string, void> {
  if (agent !== undefined) yield agent
  if (effect === 'activity' || item_id === undefined || !isPersonal(item_type)) return
  const stated = payload?.['persona']
  const slash = item_id.lastIndexOf('/')
  if (item_type === 'persona') yield item_id
  else if (typeof stated === 'string' && item_id.startsWith(`${stated}/`)) yield stated
  else if (slash > 0) yield item_id.slice(0, slash)
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

  /** True if nothing was gathered. */
  get isEmpty(): boolean {
    return this.#itemTypes.size === 0 && this.#sections.size === 0 && this.#personas.size === 0
  }

  /** A record that applied. Notes of the journal about itself make nothing stale. */
  addRecord(record: ReadRecord): void {
    const effect = effectOf(record)
    if (effect === 'meta') return
    if (effect !== 'activity') this.#itemTypes.add(record.item_type)
    for (const section of sectionsOf(record)) this.#sections.add(section)
    for (const persona of personasOf(record, effect)) this.#personas.add(persona)
  }

  /** Entities of a type whose images changed without a record: they were derived anew. */
  addType(itemType: string): void {
    this.#itemTypes.add(itemType)
    for (const section of sectionsOf({
      action: 'update',
      item_type: itemType,
      item_id: 'any',
      payload: {},
    })) {
      this.#sections.add(section)
    }
  }

  /** Takes over what another has gathered. */
  addAll({ itemTypes, sections, personas }: Impact): void {
    for (const type of itemTypes) this.#itemTypes.add(type)
    for (const section of sections) this.#sections.add(section)
    for (const persona of personas) this.#personas.add(persona)
  }

  /** What was gathered. */
  toImpact(): Impact {
    return {
      itemTypes: sorted(this.#itemTypes),
      sections: sorted(this.#sections),
      personas: sorted(this.#personas),
    }
  }
}

/** Most impacts are of one record: one of each needs no sorting. */
function sorted(names: Iterable<string>): string[] {
  const list = [...names]
  return list.length < 2 ? list : list.sort()
}
