import { type Effect, effectOf, type ReadRecord, sectionsOf } from '@kim/manifest'

/** What a change made stale: nothing more, and nothing less. Each list is sorted. */
export interface Impact {
  readonly itemTypes: readonly string[]
  readonly sections: readonly string[]
  readonly personas: readonly string[]
}

const NOTHING: Impact = { itemTypes: [], sections: [], personas: [] }

/** What records make stale that applied. Those of a burst are mostly about one inbox: nothing is gathered for them. */
export function impactOf(records: readonly ReadRecord[]): Impact {
  const [first] = records
  if (first === undefined) return NOTHING
  if (areAlike(records, first)) return impactOfOne(first)
  const impact = new ImpactSet()
  for (const record of records) impact.addRecord(record)
  return impact.toImpact()
}

/** Whether all records make the same stale as this one of them. */
function areAlike(records: readonly ReadRecord[], one: ReadRecord): boolean {
  if (records.length === 1) return true
  const effect = effectOf(one)
  const owner = ownerOf(one, effect)
  return records.every(
    record =>
      record.agent === one.agent &&
      record.item_type === one.item_type &&
      effectOf(record) === effect &&
      ownerOf(record, effect) === owner,
  )
}

function impactOfOne(record: ReadRecord): Impact {
  const effect = effectOf(record)
  if (effect === 'meta') return NOTHING
  const { agent } = record
  const owner = ownerOf(record, effect)
  const personas = agent === undefined ? [] : [agent]
  if (owner !== undefined && owner !== agent) personas.push(owner)
  personas.sort()
  return {
    itemTypes: effect === 'activity' ? [] : [record.item_type],
    sections: inOrder(sectionsOf(record)),
    personas,
  }
}

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
  return inOrder(sectionsOf({ action: 'update', item_type: itemType, item_id: 'any', payload: {} }))
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
    if (record.agent !== undefined) this.#personas.add(record.agent)
    const owner = ownerOf(record, effect)
    if (owner !== undefined) this.#personas.add(owner)
  }

  /** Entities of a type whose images changed without a record: they were derived anew. */
  addType(itemType: string): void {
    this.#itemTypes.add(itemType)
    for (const section of sectionsOfType(itemType)) this.#sections.add(section)
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

function sorted(names: Iterable<string>): string[] {
  return Array.from(names).sort()
}

const ordered = new WeakMap<readonly string[], readonly string[]>()

/** The manifest has a few lists, and one of them is asked for with every record. */
function inOrder(sections: readonly string[]): readonly string[] {
  let found = ordered.get(sections)
  if (found === undefined) {
    found = Object.freeze(sorted(sections))
    ordered.set(sections, found)
  }
  return found
}
