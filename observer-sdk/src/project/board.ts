/** The summary that a status bar or a tree's top level shows. */
import { type AttentionEntity, actionClasses, attentionOf, isRegistryFamily } from '@kim/manifest'
import { sectionsOfType } from './impact.js'
import type { State } from './state.js'

/** Numbers that the host got from elsewhere, for the families the journal does not cover yet. */
export interface BoardSeed {
  /** How many, by item type. */
  readonly counts: Readonly<Record<string, number>>
}

/** How many entities of a type there are, and who says so. */
export interface BoardCount {
  readonly count: number
  readonly source: 'journal' | 'seed'
  /** True while the journal is not the authority for this type. */
  readonly degraded: boolean
}

/** A section of the board and how many entities stand in it. */
export interface SectionSummary {
  readonly id: string
  readonly items: number
}

/** The whole board. */
export interface Board {
  readonly sections: readonly SectionSummary[]
  readonly counts: Readonly<Record<string, BoardCount>>
  /** How many things wait for a person. */
  readonly attentionRequired: number
  readonly registryAuthoritative: boolean
  /** Item types whose numbers are not the journal's own. */
  readonly degraded: readonly string[]
}

/** Types whose payloads the attention rules look at, aliases included. */
const ATTENTION_TYPES: ReadonlySet<string> = attentionTypes()

/** Computes boards; what waits for a person is counted again only when it may have changed. */
export class BoardMaker {
  readonly #state: State
  readonly #seed: BoardSeed | undefined
  #attention: number | undefined

  constructor(state: State, seed: BoardSeed | undefined) {
    this.#state = state
    this.#seed = seed
  }

  /** These item types changed. */
  touch(itemTypes: readonly string[]): void {
    if (itemTypes.some(type => ATTENTION_TYPES.has(type))) this.#attention = undefined
  }

  board(registryAuthoritative: boolean): Board {
    const counts = this.#counts(registryAuthoritative)
    const sections = new Map<string, number>()
    for (const [itemType, { count }] of counts)
      for (const id of sectionsOfType(itemType)) sections.set(id, (sections.get(id) ?? 0) + count)
    this.#attention ??= attentionOf(this.#attentive())
    return {
      sections: [...sections].map(([id, items]) => ({ id, items })).sort((a, b) => (a.id < b.id ? -1 : 1)),
      counts: Object.fromEntries(counts),
      attentionRequired: this.#attention,
      registryAuthoritative,
      degraded: [...counts].flatMap(([type, { degraded }]) => (degraded ? [type] : [])).sort(),
    }
  }

  #counts(registryAuthoritative: boolean): Map<string, BoardCount> {
    const counts = new Map<string, BoardCount>()
    for (const [type, count] of this.#state.counts) {
      if (count === 0) continue
      const degraded = !registryAuthoritative && isRegistryFamily(type)
      counts.set(type, { count, source: 'journal', degraded })
    }
    if (registryAuthoritative) return counts
    for (const [type, count] of Object.entries(this.#seed?.counts ?? {})) {
      if (isRegistryFamily(type) || !counts.has(type))
        counts.set(type, { count, source: 'seed', degraded: true })
    }
    return counts
  }

  *#attentive(): Generator<AttentionEntity> {
    for (const type of ATTENTION_TYPES) {
      for (const { payload } of this.#state.values(type)) yield { item_type: type, payload }
    }
  }
}

function attentionTypes(): ReadonlySet<string> {
  const { attention, item_type_aliases: aliases } = actionClasses
  const types = new Set<string>([...attention.rules, ...attention.sums].map(rule => rule.item_type))
  for (const [alias, type] of Object.entries(aliases)) if (types.has(type)) types.add(alias)
  return types
}
