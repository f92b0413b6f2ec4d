import { sha256Hex } from './digest.js'
import type { CheckpointFile } from './files.js'
import { type BlobRef, field, isObject, isSafe, type NaiveRecord, readRef } from './line.js'

export interface VerifiedCheckpoint {
  headSeq: number
  headWriter: string | null
  capabilities: string[]
  entities: CheckpointEntity[]
  /** Revisions of deleted entities. */
  revisions: { itemType: string; itemId: string; rev: number }[]
}

export interface CheckpointEntity {
  itemType: string
  itemId: string
  rev: number | undefined
  payload: object | undefined
  payloadRef: BlobRef | undefined
}

/** The newest candidate that verifies, and how many failed before it. */
export function findCheckpoint(
  candidates: readonly CheckpointFile[],
  records: readonly NaiveRecord[],
  project: string | undefined,
): { checkpoint: VerifiedCheckpoint | undefined; rejected: number } {
  let rejected = 0
  for (const candidate of candidates) {
    const checkpoint = verifyCheckpoint(candidate, records, project)
    if (checkpoint !== undefined) return { checkpoint, rejected }
    rejected += 1
  }
  return { checkpoint: undefined, rejected }
}

function verifyCheckpoint(
  file: CheckpointFile,
  records: readonly NaiveRecord[],
  project: string | undefined,
): VerifiedCheckpoint | undefined {
  const document = parse(file.bytes)
  if (document === undefined || field(document, 'checkpoint') !== 1) return undefined
  const headSeq = field(document, 'head_seq')
  const headWriter = field(document, 'head_writer')
  const owner = field(document, 'project_id')
  const capabilities = field(document, 'capabilities')
  const entities = field(document, 'entities')
  const revisions = field(document, 'revisions')
  if (!isSafe(headSeq) || headSeq < 1 || headSeq !== Number(file.name.replace(/\D/g, ''))) return undefined
  if (headWriter !== null && typeof headWriter !== 'string') return undefined
  if (typeof owner !== 'string' || (project !== undefined && owner !== project)) return undefined
  if (!Array.isArray(capabilities) || !Array.isArray(field(document, 'keys'))) return undefined
  if (!Array.isArray(revisions) || !revisions.every(isRevision) || !isChain(field(document, 'chain'))) {
    return undefined
  }
  if (!Array.isArray(entities) || field(document, 'entity_count') !== entities.length) return undefined
  if (!records.some(record => isRefTo(record, file, headSeq, entities.length))) return undefined
  return {
    headSeq,
    headWriter,
    capabilities,
    entities: entities.map(readEntity),
    revisions: revisions.map(([itemType, itemId, rev]) => ({ itemType, itemId, rev })),
  }
}

function isRevision(value: unknown): value is [string, string, number] {
  if (!Array.isArray(value)) return false
  const [type, id, rev] = value
  return typeof type === 'string' && typeof id === 'string' && isSafe(rev) && rev >= 0
}

function isChain(value: unknown): boolean {
  if (!isObject(value)) return false
  return typeof field(value, 'segment') === 'string' && /^[0-9a-f]{64}$/.test(String(field(value, 'sha256')))
}

/** A `checkpoint_ref` record after the head that names this file and holds its hash, length and count. */
function isRefTo(record: NaiveRecord, file: CheckpointFile, headSeq: number, count: number): boolean {
  if (record.action !== 'checkpoint_ref' || record.seq <= headSeq || record.payload === undefined)
    return false
  return (
    field(record.payload, 'file') === file.name &&
    field(record.payload, 'sha256') === sha256Hex(file.bytes) &&
    field(record.payload, 'bytes') === file.bytes.length &&
    field(record.payload, 'head_seq') === headSeq &&
    field(record.payload, 'entities') === count
  )
}

function readEntity(line: object): CheckpointEntity {
  const rev = field(line, 'entity_rev')
  const payload = field(line, 'payload')
  return {
    itemType: String(field(line, 'item_type')),
    itemId: String(field(line, 'item_id')),
    rev: isSafe(rev) && rev >= 0 ? rev : undefined,
    payload: isObject(payload) ? payload : undefined,
    payloadRef: isObject(payload) ? undefined : readRef(field(line, 'payload_ref')),
  }
}

function parse(bytes: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
