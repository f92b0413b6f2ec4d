/** The summary that a status bar or a tree's top level shows. */
import { actionClasses, attentionOf, canonicalType, isCounted, isRegistryFamily } from '@kim/manifest'
import { ATTENTION_TYPES, sectionsOfType } from './impact.js'
import type { State } from './state.js'

/** Numbers that the host got from elsewhere, for the families the journal does not cover yet. */
export interface BoardSeed {
  /** How many, by item type. */
  readonly counts: Readonly<Record<string, number>>
  /** How many of them wait for a person, by item type. */
  readonly attention?: Readonly<Record<string, number>>
}

/** How many entities of a type there are, and who says so. */
export interface BoardCount {
  readonly count: number
  readonly source: 'journal' | 'seed'
  /** True while the journal is not the authority for this type. */
  readonly degraded: boolean
}

/** A section of the board and how many entities are in it: of some item types only those in certain states count. */
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
  /** True while that number is not, or not all, by the journal's authority. */
  readonly attentionDegraded: boolean
  readonly registryAuthoritative: boolean
  /** Item types whose numbers are not the journal's own. */
  readonly degraded: readonly string[]
}

/** The types of which not every entity counts, or whose payloads the attention rules look at. */
const RULED_TYPES: ReadonlySet<string> = new Set([
  ...Object.entries(actionClasses.item_types).flatMap(([type, facts]) => ('counted' in facts ? [type] : [])),
  ...ATTENTION_TYPES,
])

interface Tally {
  /** How many count in the sections of the type. */
  items: number
  attention: number
}

/** Computes boards; the payloads of an item type are looked at again only when it may have changed. */
export class BoardMaker {
  readonly #state: State
  readonly #seed: BoardSeed | undefined
  readonly #tallies = new Map<string, Tally>()

  constructor(state: State, seed: BoardSeed | undefined) {
    this.#state = state
    this.#seed = seed
  }

  /** These item types changed. */
  touch(itemTypes: readonly string[]): void {
    for (const type of itemTypes) this.#tallies.delete(type)
  }

  board(registryAuthoritative: boolean): Board {
    const { counts: seeded = {}, attention: waiting = {} } = registryAuthoritative ? {} : (this.#seed ?? {})
    const live = this.#state.counts
    const counts = new Map<string, BoardCount>()
    const sections = new Map<string, number>()
    let attentionRequired = 0
    const add = (type: string, items: number, count: BoardCount): void => {
      counts.set(type, count)
      for (const id of sectionsOfType(type)) sections.set(id, (sections.get(id) ?? 0) + items)
    }
    for (const [type, count] of live) {
      const { attention, items } = this.#tallyOf(type, count)
      const degraded = !registryAuthoritative && isRegistryFamily(type)
      if (!degraded || !holdsFamily(waiting, type)) attentionRequired += attention
      if (!degraded || !holdsFamily(seeded, type)) add(type, items, { count, source: 'journal', degraded })
    }
    const isMissing = ([type]: [string, number]): boolean => isRegistryFamily(type) || !live.has(type)
    for (const [type, count] of Object.entries(seeded).filter(isMissing))
      add(type, count, { count, source: 'seed', degraded: true })
    for (const [, count] of Object.entries(waiting).filter(isMissing)) attentionRequired += count
    return {
      sections: [...sections].map(([id, items]) => ({ id, items })).sort((a, b) => (a.id < b.id ? -1 : 1)),
      counts: Object.fromEntries(counts),
      attentionRequired,
      attentionDegraded: !registryAuthoritative,
      registryAuthoritative,
      degraded: [...counts].flatMap(([type, { degraded }]) => (degraded ? [type] : [])).sort(),
    }
  }

  #tallyOf(type: string, count: number): Tally {
    if (!RULED_TYPES.has(canonicalType(type))) return { items: count, attention: 0 }
    let tally = this.#tallies.get(type)
    if (tally === undefined) {
      tally = { items: 0, attention: 0 }
      for (const { payload } of this.#state.values(type)) {
        const entity = { item_type: type, payload }
        if (isCounted(entity)) tally.items += 1
        tally.attention += attentionOf([entity])
      }
      this.#tallies.set(type, tally)
    }
    return tally
  }
}

/** Whether these numbers are about the family that a type belongs to: one family has one source. */
function holdsFamily(numbers: Readonly<Record<string, number>>, itemType: string): boolean {
  return Object.keys(numbers).some(type => canonicalType(type) === canonicalType(itemType))
}
