import {
  actionClasses,
  canonicalType,
  type Effect,
  effectOf,
  isRegistryGenesis,
  type ReadRecord,
  sectionsOf,
} from '@kim/manifest'
import type { JournalLine } from '../tail/journal-reader.js'

/** What a change made stale: nothing more, and nothing less. Each list is sorted. */
export interface Impact {
  readonly itemTypes: readonly string[]
  readonly sections: readonly string[]
  readonly personas: readonly string[]
  /** The number of things that wait for a person may have changed, whatever the sections are. */
  readonly attentionChanged: boolean
}

const NONE = sorted([])
const NOTHING: Impact = { itemTypes: NONE, sections: NONE, personas: NONE, attentionChanged: false }
const REGISTERED: Impact = { ...NOTHING, attentionChanged: true }

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

/** What the newest record was about: those of a burst are mostly about one inbox, and make the same stale. */
let newest:
  | (Pick<ReadRecord, 'agent' | 'item_type'> & {
      readonly effect: Effect
      readonly owner: string | undefined
      readonly impact: Impact
    })
  | undefined

/** What a record makes stale that applied. Notes of the journal about itself make nothing stale. */
function impactOfOne(record: ReadRecord): Impact {
  const effect = effectOf(record)
  if (effect === 'meta') return isRegistryGenesis(record) ? REGISTERED : NOTHING
  const { agent, item_type } = record
  const owner = ownerOf(record, effect)
  const last = newest
  if (last?.item_type === item_type && last.effect === effect && last.agent === agent && last.owner === owner)
    return last.impact
  const isChange = effect !== 'activity'
  const impact: Impact = {
    itemTypes: sorted(isChange ? [item_type] : []),
    sections: sorted(sectionsOf(record)),
    personas: sorted(new Set([agent, owner])),
    attentionChanged: isChange && ATTENTION_TYPES.has(canonicalType(item_type)),
  }
  newest = { agent, item_type, effect, owner, impact }
  return impact
}

/** What the records of these lines make stale. */
export function impactOf(lines: readonly JournalLine[]): Impact {
  let first: Impact | undefined
  let all: ImpactSet | undefined
  for (const { record } of lines) {
    const impact = impactOfOne(record)
    if (impact === first) continue
    if (first !== undefined) {
      all ??= new ImpactSet(first)
      all.addAll(impact)
    }
    first ??= impact
  }
  return all?.toImpact() ?? first ?? NOTHING
}

/** Gathers impacts until somebody takes them. */
export class ImpactSet {
  readonly #itemTypes = new Set<string>()
  readonly #sections = new Set<string>()
  readonly #personas = new Set<string>()
  #attentionChanged = false

  constructor(begins: Impact = NOTHING) {
    this.addAll(begins)
  }

  /** True if nothing was gathered. */
  get isEmpty(): boolean {
    return !this.#attentionChanged && this.#itemTypes.size + this.#sections.size + this.#personas.size === 0
  }

  /** Entities of a type whose images changed without a record: they were derived again. */
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

function sorted(names: Iterable<string | undefined>): readonly string[] {
  return Object.freeze([...names].filter(name => name !== undefined).sort())
}
