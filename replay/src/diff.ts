/** What is different between two points, and which records made it so. */
import { isJsonObject, jcs, parseSegmentName } from '@kim/manifest'
import type { JournalCopy, JournalPoint, PassControl, RangeVerdict } from '@kim/observer-sdk/verify'
import { unknownPersona } from './not-found.js'
import { baseOf, endingAt, type Point, type StateAt, type Stop, stateAtStop, stopOf } from './state-at.js'
import { describeState, type StateDocument } from './state-document.js'

/** One entity that a record changed between the points, or that differs. */
export interface EntityChange {
  readonly item_type: string
  readonly item_id: string
  /** `unchanged`: changed and changed back. `passed`: created and removed. */
  readonly change: 'created' | 'updated' | 'removed' | 'unchanged' | 'passed'
  /** The records that changed it; none if only a checkpoint shows its change. */
  readonly seqs: readonly number[]
  /** Below the entity. */
  readonly patch: readonly PatchOperation[]
}

/** What is between two points. */
export interface Difference {
  readonly from: StateDocument
  readonly to: StateDocument
  readonly changes: readonly EntityChange[]
  /** What makes the one document the other. */
  readonly patch: readonly PatchOperation[]
  /** Records between the two. */
  readonly records: number
  /** `to` is before `from` in the journal. */
  readonly backwards: boolean
  readonly missing: RangeVerdict
}

/** Compares two points. Throws `no_persona` for a name that neither knows. */
export async function differenceOf(
  history: JournalCopy,
  { from, to }: { readonly from: Point; readonly to: Point },
  personas: readonly string[],
  control: PassControl = {},
): Promise<Difference> {
  const pass = { history, control }
  const ends = [await endOf(pass, from), await endOf(pass, to)] as const
  const backwards = await isBackwards(pass, ends)
  const [first, second] = backwards ? [ends[1], ends[0]] : ends
  const a = await stateAtStop(history, first.point, first.stop, control)
  const before = describeState(a, personas)
  const passage = await readOn(pass, a, second.stop)
  const b = await later(pass, a, second, passage)
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

/** The journal, and what watches the passes over it. */
interface Pass {
  readonly history: JournalCopy
  readonly control: PassControl
}

async function endOf({ history, control }: Pass, point: Point): Promise<End> {
  return { point, stop: await stopOf(history, point, control) }
}

/** What happened to one entity. */
interface Touched {
  readonly item_type: string
  readonly item_id: string
  readonly owner: string | undefined
  /** Of the records that changed it, in file order. */
  readonly seqs: number[]
}

/** What happened between two points. */
interface Passage {
  readonly touched: readonly Touched[]
  /** Records that had their effect. */
  readonly records: number
  readonly missing: RangeVerdict
}

/** Reads on from one point to a later one. The state of the one becomes that of the other. */
async function readOn(
  { history, control }: Pass,
  { reading, payloads }: StateAt,
  to: Stop,
): Promise<Passage> {
  const touched = new Map<string, Touched>()
  let records = 0
  const from = reading.stoppedAt
  reading.resume({
    ...endingAt(to),
    applied: ({ record, effect, before }) => {
      records += 1
      const { item_type, item_id, seq } = record
      if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return
      const key = JSON.stringify([item_type, item_id])
      const known = touched.get(key)
      if (known !== undefined) known.seqs.push(seq)
      else {
        const image = reading.entities.get(item_type, item_id) ?? before
        const owner = image === undefined ? record.agent : payloads.facts(image).owner
        touched.set(key, { item_type, item_id, owner, seqs: [seq] })
      }
    },
  })
  if (from !== undefined) await history.walk(reading, control, from)
  payloads.need(reading.entities.images())
  return { touched: [...touched.values()], records, missing: reading.close(payloads) }
}

/** The state at the later point: what has just been read, if reading it by itself would begin at the same place. */
async function later(pass: Pass, a: StateAt, { point, stop }: End, { missing }: Passage): Promise<StateAt> {
  const { history, control } = pass
  const isSound = [a.missing, missing].every(({ findings }) => Object.keys(findings).length === 0)
  const isSame = isSound && (await baseOf(history, stop, control))?.document.name === a.base?.document.name
  return isSame ? { ...a, point, missing } : await stateAtStop(history, point, stop, control)
}

async function isBackwards(pass: Pass, [a, b]: readonly [End, End]): Promise<boolean> {
  if (a.stop.kind === 'end' || b.stop.kind === 'end') return b.stop.kind !== 'end'
  if (a.stop.kind === 'above' && b.stop.kind === 'above') return a.stop.seq > b.stop.seq
  const [one, other] = [await lastOf(pass, a), await lastOf(pass, b)]
  if (one === undefined || other === undefined) return one !== undefined
  return one.segment > other.segment || (one.segment === other.segment && one.offset > other.offset)
}

/** The place of the last record before a stop. */
async function lastOf({ history, control }: Pass, { point, stop }: End): Promise<JournalPoint | undefined> {
  if (stop.kind === 'after') return stop.mark
  const { last } = (await stateAtStop(history, point, stop, control)).reading
  return last && { segment: parseSegmentName(last.segment) ?? 0, offset: last.offset }
}

/** The part between the points covers what is there; each state what is before it. */
function worst(all: readonly RangeVerdict[]): RangeVerdict {
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
  const isShown = ({ item_type, item_id, owner }: Touched): boolean =>
    personas.length === 0 ||
    (owner !== undefined && personas.includes(owner)) ||
    [from, to].some(document => imageIn(document, item_type, item_id) !== undefined)
  for (const each of touched) if (isShown(each)) add(each.item_type, each.item_id, each.seqs)
  // If lines are damaged, a checkpoint may know what no record shows.
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

/** One operation of a JSON Patch (RFC 6902). */
type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** The operations that make `before` into `after`, by path. A list that differs is replaced whole. */
function patchOf(before: unknown, after: unknown, path = ''): PatchOperation[] {
  if (!isJsonObject(before) || !isJsonObject(after))
    return jcs(before) === jcs(after) ? [] : [{ op: 'replace', path, value: after }]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].sort().flatMap((name): PatchOperation[] => {
    const inner = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(after, name)) return [{ op: 'remove', path: inner }]
    if (!Object.hasOwn(before, name)) return [{ op: 'add', path: inner, value: after[name] }]
    return before[name] === after[name] ? [] : patchOf(before[name], after[name], inner)
  })
}
