/** What is different between two moments, and which records made it so. */
import type { PassOptions } from '../verify/pace.js'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { type PatchOperation, patchOf } from './json-patch.js'
import { unknownPersona } from './not-found.js'
import { type Passage, passageBetween, type Touched } from './passage.js'
import { type Point, stopOf } from './point.js'
import { type StateAt, stateAtStop } from './state-at.js'
import { describeState, type StateDocument } from './state-document.js'

/** One entity that was changed on the way, or differs. */
export interface EntityChange {
  readonly item_type: string
  readonly item_id: string
  /** `unchanged`: changed and changed back. `passed`: came and went. */
  readonly change: 'created' | 'updated' | 'removed' | 'unchanged' | 'passed'
  /** The records that changed it; none where its change was read in a checkpoint alone. */
  readonly seqs: readonly number[]
  /** Below the entity. */
  readonly patch: readonly PatchOperation[]
}

/** What lies between two moments. */
export interface Difference {
  readonly from: StateDocument
  readonly to: StateDocument
  readonly changes: readonly EntityChange[]
  /** What makes the one document the other. */
  readonly patch: readonly PatchOperation[]
  /** Records between the two. */
  readonly records: number
  /** The two stand the other way round in the journal. */
  readonly backwards: boolean
  readonly missing: Missing
}

/** Compares two moments. Throws `no_persona` for a name that neither knows. */
export async function differenceOf(
  journal: CopiedJournal,
  points: { readonly from: Point; readonly to: Point },
  personas: readonly string[],
  options: PassOptions,
): Promise<Difference> {
  const stops = {
    from: await stopOf(journal, points.from, options),
    to: await stopOf(journal, points.to, options),
  }
  const a = await stateAtStop(journal, points.from, stops.from, options)
  const b = await stateAtStop(journal, points.to, stops.to, options)
  const [from, to] = [describeState(a, personas), describeState(b, personas)]
  for (const name of personas)
    if (!from.known.has(name) && !to.known.has(name)) throw unknownPersona(name, to.known)
  const backwards = isBackwards(a, b)
  const passage = await (backwards
    ? passageBetween(journal, b, stops.to, stops.from, options)
    : passageBetween(journal, a, stops.from, stops.to, options))
  return {
    from: from.document,
    to: to.document,
    changes: changesOf(from.document, to.document, passage, personas),
    patch: patchOf(from.document, to.document),
    records: passage.records,
    backwards,
    missing: worst([a.missing, b.missing, passage.missing]),
  }
}

/** By the place of the last record of each. */
function isBackwards({ reading: { last: a } }: StateAt, { reading: { last: b } }: StateAt): boolean {
  if (a === undefined || b === undefined) return b === undefined && a !== undefined
  if (a.segment !== b.segment) return a.segment > b.segment
  return a.offset > b.offset
}

/** The passage covers what lies between; each state what lies before it. */
function worst(all: readonly Missing[]): Missing {
  return all.reduce((one, other) => (other.exit > one.exit ? other : one))
}

function changesOf(
  from: StateDocument,
  to: StateDocument,
  { touched }: Passage,
  personas: readonly string[],
): EntityChange[] {
  const changes: EntityChange[] = []
  const seen = new Set<string>()
  const add = (item_type: string, item_id: string, seqs: readonly number[]): void => {
    const before = imageIn(from, item_type, item_id)
    const after = imageIn(to, item_type, item_id)
    const patch = before === undefined || after === undefined ? [] : patchOf(before, after)
    seen.add(JSON.stringify([item_type, item_id]))
    changes.push({ item_type, item_id, change: changeOf(before, after, patch), seqs, patch })
  }
  for (const each of touched)
    if (isShown(each, from, to, personas)) add(each.item_type, each.item_id, each.seqs)
  // Where lines are damaged, a checkpoint may know what no record shows.
  for (const { entities } of [from, to]) {
    for (const [type, ofType] of Object.entries(entities)) {
      for (const id of Object.keys(ofType)) {
        if (seen.has(JSON.stringify([type, id]))) continue
        const [before, after] = [imageIn(from, type, id), imageIn(to, type, id)]
        if (before === undefined || after === undefined || patchOf(before, after).length > 0)
          add(type, id, [])
      }
    }
  }
  return changes.sort((a, b) => order(a.item_type, b.item_type) || order(a.item_id, b.item_id))
}

function isShown(
  { item_type, item_id, owner }: Touched,
  from: StateDocument,
  to: StateDocument,
  personas: readonly string[],
): boolean {
  if (personas.length === 0 || (owner !== undefined && personas.includes(owner))) return true
  return imageIn(from, item_type, item_id) !== undefined || imageIn(to, item_type, item_id) !== undefined
}

function changeOf(before: unknown, after: unknown, patch: readonly PatchOperation[]): EntityChange['change'] {
  if (before === undefined) return after === undefined ? 'passed' : 'created'
  if (after === undefined) return 'removed'
  return patch.length === 0 ? 'unchanged' : 'updated'
}

function imageIn({ entities }: StateDocument, type: string, id: string): unknown {
  const ofType = Object.hasOwn(entities, type) ? entities[type] : undefined
  return ofType !== undefined && Object.hasOwn(ofType, id) ? ofType[id] : undefined
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
