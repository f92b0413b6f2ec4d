/** What is different between two moments, and which records made it so. */
import { parseSegmentName } from '@kim/manifest'
import type { PassOptions } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { type PatchOperation, patchOf } from './json-patch.js'
import type { Mark } from './line-walk.js'
import { unknownPersona } from './not-found.js'
import { type Passage, readOn, type Touched } from './passage.js'
import { type Point, type Stop, stopOf } from './point.js'
import { baseOf, type StateAt, stateAtStop } from './state-at.js'
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
  { from, to }: { readonly from: Point; readonly to: Point },
  personas: readonly string[],
  options: PassOptions,
): Promise<Difference> {
  const ends = [await endOf(journal, from, options), await endOf(journal, to, options)] as const
  const backwards = await isBackwards(journal, ends, options)
  const [first, second] = backwards ? [ends[1], ends[0]] : ends
  const a = await stateAtStop(journal, first.point, first.stop, options)
  const before = describeState(a, personas)
  const passage = await readOn(journal, a, second.stop, options)
  const b = await later(journal, a, second, passage, options)
  const after = describeState(b, personas)
  const missing = worst([a.missing, b.missing, passage.missing])
  for (const name of personas)
    if (!before.known.has(name) && !after.known.has(name)) throw unknownPersona(name, after.known, missing)
  const [one, other] = backwards ? [after.document, before.document] : [before.document, after.document]
  return {
    from: one,
    to: other,
    changes: changesOf(one, other, passage, personas),
    patch: patchOf(one, other),
    records: passage.records,
    backwards,
    missing,
  }
}

interface End {
  readonly point: Point
  readonly stop: Stop
}

async function endOf(journal: CopiedJournal, point: Point, options: PassOptions): Promise<End> {
  return { point, stop: await stopOf(journal, point, options) }
}

/** The state at the later moment: where it would be read from the same beginning, it has just been read. */
async function later(
  journal: CopiedJournal,
  a: StateAt,
  { point, stop }: End,
  { missing }: Passage,
  options: PassOptions,
): Promise<StateAt> {
  const isSound = [a.missing, missing].every(({ findings }) => Object.keys(findings).length === 0)
  const isSame = isSound && (await baseOf(journal, stop, options))?.document.name === a.base?.document.name
  return isSame ? { ...a, point, missing } : await stateAtStop(journal, point, stop, options)
}

async function isBackwards(
  journal: CopiedJournal,
  [a, b]: readonly [End, End],
  options: PassOptions,
): Promise<boolean> {
  if (a.stop.kind === 'end' || b.stop.kind === 'end') return b.stop.kind !== 'end'
  if (a.stop.kind === 'above' && b.stop.kind === 'above') return a.stop.seq > b.stop.seq
  if (a.stop.kind === 'after' && b.stop.kind === 'after') return isAfter(a.stop.mark, b.stop.mark)
  const [one, other] = [await lastOf(journal, a, options), await lastOf(journal, b, options)]
  return one !== undefined && (other === undefined || isAfter(one, other))
}

function isAfter(a: Mark, b: Mark): boolean {
  return a.segment > b.segment || (a.segment === b.segment && a.offset > b.offset)
}

/** The place of the last record before a stop. */
async function lastOf(
  journal: CopiedJournal,
  { point, stop }: End,
  options: PassOptions,
): Promise<Mark | undefined> {
  if (stop.kind === 'after') return stop.mark
  const { last } = (await stateAtStop(journal, point, stop, options)).reading
  return last === undefined
    ? undefined
    : { segment: parseSegmentName(last.segment) ?? 0, offset: last.offset }
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
