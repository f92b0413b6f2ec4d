import { Buffer, isUtf8 } from 'node:buffer'
import {
  afterCheckpointHeader,
  type CheckpointHeader,
  type CheckpointRef,
  checkpointFooter,
  type Entity,
  parseCheckpointEntity,
  parseCheckpointHeader,
  sha256Hex,
  verifyHeader,
} from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { CheckpointEntry } from '../store/listing.js'

const LINE_FEED = 0x0a
const COMMA = 0x2c
const FOOTER = Buffer.from(`${checkpointFooter}\n`)

/** A checkpoint file held in memory, its header parsed and its entity lines not. */
export interface CheckpointDocument {
  readonly name: string
  readonly header: CheckpointHeader
  readonly bytes: Buffer
  /** Where the first entity line begins. */
  readonly entitiesFrom: number
  /** Where the footer begins. */
  readonly entitiesTo: number
}

/** Reads a candidate; undefined if it is no checkpoint of this version under its right name. */
export function readCheckpoint(eventsDir: string, entry: CheckpointEntry): CheckpointDocument | undefined {
  const opened = openCheckpoint(eventsDir, entry.headSeq, entry.place === 'archive' ? 'archive' : undefined)
  if (!opened.ok) return undefined
  const content = opened.value
  try {
    const bytes = content.read(0, content.bytes)
    if (content.failure !== undefined || !isUtf8(bytes)) return undefined
    const entitiesFrom = afterCheckpointHeader(bytes)
    const entitiesTo = bytes.length - FOOTER.length
    if (entitiesFrom < 0 || entitiesTo < entitiesFrom || !bytes.subarray(entitiesTo).equals(FOOTER))
      return undefined
    const parsed = parseCheckpointHeader(bytes.toString('utf8', 0, entitiesFrom - 1))
    if (!parsed.ok || parsed.header.head_seq !== entry.headSeq) return undefined
    return { name: entry.name, header: parsed.header, bytes, entitiesFrom, entitiesTo }
  } finally {
    content.close()
  }
}

/** The place of each entity line, its comma left off. */
export function* entityLines(
  document: CheckpointDocument,
): Generator<{ readonly from: number; readonly to: number }> {
  const { bytes, entitiesFrom, entitiesTo } = document
  for (let from = entitiesFrom; from < entitiesTo; ) {
    const end = bytes.indexOf(LINE_FEED, from)
    yield { from, to: bytes[end - 1] === COMMA ? end - 1 : end }
    from = end + 1
  }
}

/** The entities of a document; a line that is none is left out. */
export function* checkpointEntities(document: CheckpointDocument): Generator<Entity> {
  for (const { from, to } of entityLines(document)) {
    const entity = parseCheckpointEntity(document.bytes.toString('utf8', from, to))
    if (entity !== undefined) yield entity
  }
}

/** Whether this ref vouches for the document; the document's hash is taken only if everything else agrees. */
export function vouches(
  ref: CheckpointRef,
  document: CheckpointDocument,
  projectId: string | undefined,
): boolean {
  const { header, bytes, name } = document
  if (ref.file !== name || ref.bytes !== bytes.length) return false
  const facts = { projectId, ref, bytes: bytes.length, lines: header.entity_count, sha256: ref.sha256 }
  if (verifyHeader(header, facts) !== undefined) return false
  let lines = 0
  for (const _ of entityLines(document)) lines += 1
  return lines === header.entity_count && sha256Hex(bytes) === ref.sha256
}
