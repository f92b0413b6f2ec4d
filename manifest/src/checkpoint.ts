import stringify from 'fast-json-stable-stringify'
import { compareUtf8 } from './digest.js'
import type { Entity, Revision } from './entity-table.js'
import type { Head } from './fold.js'
import {
  exceedsNesting,
  exceedsNumberRange,
  isCount,
  isJsonObject,
  isSeq,
  isSha256,
  type JsonObject,
  type JsonValue,
  parseJson,
  toWellFormed,
} from './json.js'
import { isPayloadRef, type PayloadRef } from './record.js'

/** Version of the checkpoint document. */
const checkpointVersion = 1

/** The capability of a checkpoint that was taken after a registry genesis. */
export const registryCapability = 'registry_genesis'

/** The capability of a checkpoint that was taken after a registry genesis of mode `all`; never without the other. */
export const registryOfAllCapability = 'registry_genesis_all'

/** An idempotency key that is still remembered, the seq of its first record, and that record's `ts`. */
export type KeyEntry = readonly [key: string, seq: number, ts: string]

/** What a checkpoint says about itself. */
export interface CheckpointHeader {
  readonly project_id: string
  readonly head_seq: number
  readonly head_writer: string | null
  readonly capabilities: readonly string[]
  readonly entity_count: number
  readonly revisions: readonly Revision[]
  readonly keys: readonly KeyEntry[]
  /** The sealed segment that it ends with, and the hash of its bytes. */
  readonly chain: { readonly segment: string; readonly sha256: string }
}

/** What a `checkpoint_ref` says about a checkpoint. */
export interface CheckpointRef {
  readonly file: string
  readonly sha256: string
  readonly bytes: number
  readonly head_seq: number
  readonly entities: number
}

/** A header, or what is wrong with it. */
export type ParsedHeader =
  | { readonly ok: true; readonly header: CheckpointHeader }
  | { readonly ok: false; readonly fault: 'future' | 'header' }

const opening = `{"checkpoint":${checkpointVersion},`
const closing = ',"entities":['
/** The last line of a checkpoint. */
export const checkpointFooter = ']}'

/** The text whose UTF-8 bytes order the entities of a checkpoint, for {@link compareUtf8}. */
export function checkpointKey(itemType: string, itemId: string): string {
  return toWellFormed(`${itemType}\t${itemId}`)
}

function sorted<T>(entries: Iterable<T>, keyOf: (entry: T) => string): T[] {
  const keyed = Array.from(entries, entry => ({ key: keyOf(entry), entry }))
  return keyed.sort((a, b) => compareUtf8(a.key, b.key)).map(({ entry }) => entry)
}

/** Entities in the order of a checkpoint. */
export function inCheckpointOrder(entities: Iterable<Entity>): Entity[] {
  return sorted(entities, entity => checkpointKey(entity.item_type, entity.item_id))
}

/** Revisions of removed entities in the order of a checkpoint. */
export function revisionsInOrder(revisions: Iterable<Revision>): Revision[] {
  return sorted(revisions, ([itemType, itemId]) => checkpointKey(itemType, itemId))
}

/** A list of a header with one entry a line: it grows with the journal, and a line has its limit. */
function listText(entries: readonly (Revision | KeyEntry)[]): string {
  return entries.length === 0 ? '[]' : `[\n${entries.map(entry => stringify(entry)).join(',\n')}\n]`
}

/** The lines of a checkpoint before its entities, without the last `\n`. */
export function encodeCheckpointHeader(header: CheckpointHeader): string {
  const { keys, project_id, revisions, ...rest } = header
  const lists = `"keys":${listText(keys)},"project_id":${stringify(project_id)},"revisions":${listText(revisions)}`
  return `${opening}${stringify(rest).slice(1, -1)},${lists}${closing}`
}

/** True for the line that a checkpoint's header ends with; entities follow it. */
export function endsCheckpointHeader(line: string): boolean {
  return line.endsWith(closing)
}

/** The line of one entity, without its `\n`; each but the last takes a comma. */
export function encodeCheckpointEntity(entity: Entity, isLast: boolean): string {
  return `${stringify(entity)}${isLast ? '' : ','}`
}

/** The lines of a checkpoint, each with its `\n`. `entities` are sorted, and as many as the header announces. */
export function* encodeCheckpoint(header: CheckpointHeader, entities: Iterable<Entity>): Generator<string> {
  yield `${encodeCheckpointHeader(header)}\n`
  let left = header.entity_count
  for (const entity of entities) yield `${encodeCheckpointEntity(entity, --left === 0)}\n`
  yield `${checkpointFooter}\n`
}

const isText = (value: unknown): value is string => typeof value === 'string'

function isRevision(value: JsonValue): value is Revision {
  return Array.isArray(value) && isText(value[0]) && isText(value[1]) && isCount(value[2])
}

function isKeyEntry(value: JsonValue): value is KeyEntry {
  return Array.isArray(value) && isText(value[0]) && isSeq(value[1]) && isText(value[2])
}

function isArrayOf<T extends JsonValue>(
  value: unknown,
  is: (item: JsonValue) => item is T,
): value is readonly T[] {
  return Array.isArray(value) && value.every(is)
}

function headerIn(value: JsonObject): CheckpointHeader | undefined {
  const { project_id, head_seq, head_writer, capabilities, entity_count, revisions, keys, chain } = value
  if (!isText(project_id) || !isSeq(head_seq) || !isCount(entity_count)) return undefined
  if (head_writer !== null && !isText(head_writer)) return undefined
  if (!isArrayOf(capabilities, isText) || !isArrayOf(revisions, isRevision) || !isArrayOf(keys, isKeyEntry)) {
    return undefined
  }
  if (!isJsonObject(chain) || !isText(chain['segment']) || !isSha256(chain['sha256'])) return undefined
  const { segment, sha256 } = chain
  return {
    project_id,
    head_seq,
    head_writer,
    capabilities,
    entity_count,
    revisions,
    keys,
    chain: { segment, sha256 },
  }
}

/** What the header of a checkpoint says, its lines joined by `\n` or by nothing. */
export function parseCheckpointHeader(text: string): ParsedHeader {
  const value = text.endsWith(closing) ? parseJson(`${text}${checkpointFooter}`) : undefined
  if (!isJsonObject(value)) return { ok: false, fault: 'header' }
  const { checkpoint } = value
  if (typeof checkpoint === 'number' && checkpoint > checkpointVersion) return { ok: false, fault: 'future' }
  if (checkpoint !== checkpointVersion) return { ok: false, fault: 'header' }
  const header = headerIn(value)
  return header === undefined ? { ok: false, fault: 'header' } : { ok: true, header }
}

/** What the line of an entity says, or nothing if it is none. */
export function parseCheckpointEntity(line: string): Entity | undefined {
  if (exceedsNesting(line)) return undefined
  const value = parseJson(line.endsWith(',') ? line.slice(0, -1) : line)
  if (!isJsonObject(value) || exceedsNumberRange(value)) return undefined
  const { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts } = value
  if (!isText(item_type) || !isText(item_id) || !isSeq(seq)) return undefined
  if (!isJsonObject(payload) && !isPayloadRef(payload_ref)) return undefined
  return {
    item_type,
    item_id,
    agent: isText(agent) ? agent : undefined,
    entity_rev: isCount(entity_rev) ? entity_rev : undefined,
    payload: isJsonObject(payload) ? payload : undefined,
    payload_ref: isJsonObject(payload) ? undefined : (payload_ref as unknown as PayloadRef),
    seq,
    ts: isText(ts) ? ts : undefined,
  }
}

/** What a `checkpoint_ref` payload says, or nothing if it is none. */
export function parseCheckpointRef(payload: JsonObject | undefined): CheckpointRef | undefined {
  if (payload === undefined) return undefined
  const { file, sha256, bytes, head_seq, entities } = payload
  if (!isText(file) || !isSha256(sha256) || !isCount(bytes) || !isSeq(head_seq) || !isCount(entities))
    return undefined
  return { file, sha256, bytes, head_seq, entities }
}

/** Who wrote the newest record that a checkpoint covers. */
export function headOf(header: CheckpointHeader): Head {
  return { seq: header.head_seq, writer: header.head_writer }
}
