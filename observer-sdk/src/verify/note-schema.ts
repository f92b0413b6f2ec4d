import {
  checkpointName,
  isCount,
  isJsonObject,
  isSeq,
  isSha256,
  type JsonObject,
  type JsonValue,
  limits,
  parseCheckpointRef,
  parseSegmentName,
} from '@kim/manifest'
import { digestIn } from './file-digest.js'

type Rule = (value: JsonValue | undefined) => boolean

const text: Rule = value => typeof value === 'string'
const name: Rule = value => typeof value === 'string' && value !== ''
const names: Rule = value => Array.isArray(value) && value.every(text)
const projectId: Rule = value => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value)
const segment: Rule = value => typeof value === 'string' && parseSegmentName(value) !== undefined

const rewrite: Rule = value =>
  isJsonObject(value) &&
  segment(value['segment']) &&
  digestIn(value['before']) !== undefined &&
  digestIn(value['after']) !== undefined

const txPart: Rule = value => isSeq(value) && value <= limits.txRecordsMax

/** What each note says besides `kind` and `schema_version`; more is allowed. */
const fields: Readonly<Record<string, Readonly<Record<string, Rule>>>> = {
  genesis: { project_id: projectId, source: name, created: text },
  registry_genesis: { mode: value => value === 'all' || value === 'list', personas: names, missing: names },
  segment_sealed: {
    segment,
    bytes: isCount,
    sha256: isSha256,
    first_seq: isSeq,
    last_seq: isSeq,
    project_id: projectId,
  },
  torn_tail_adjudicated: { segment, from: isCount, to: isCount, sha256: isSha256 },
  tx_abandoned: { tx_id: name, segment, first_seq: isSeq, last_seq: isSeq, records: txPart, n: txPart },
  redaction: {
    reason: text,
    item_type: name,
    item_id: name,
    files: value => Array.isArray(value) && value.every(rewrite),
    part: isSeq,
    parts: isSeq,
  },
  store_marker: { text },
  producer_started: { version: text, pid: isSeq, node: text, platform: text },
  producer_stopped: { reason: text },
  seq_repair: { from: isSeq, to: isSeq, reason: text },
}

/** The first rule that a note's payload breaks, if any. Kinds and schema versions we do not know have none. */
export function noteFault(kind: string, payload: JsonObject): string | undefined {
  if (payload['schema_version'] !== 1) return undefined
  if (kind === 'checkpoint_ref') return refFault(payload)
  const rules = Object.hasOwn(fields, kind) ? fields[kind] : undefined
  for (const [field, holds] of Object.entries(rules ?? {})) {
    if (!holds(payload[field])) return `${kind}.${field}`
  }
  return undefined
}

function refFault(payload: JsonObject): string | undefined {
  const ref = parseCheckpointRef(payload)
  if (ref === undefined || ref.head_seq > limits.seqMax) return 'checkpoint_ref'
  return ref.file === checkpointName(ref.head_seq) ? undefined : 'checkpoint_ref.file'
}
