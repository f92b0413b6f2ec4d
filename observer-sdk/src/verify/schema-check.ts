import {
  type Effect,
  type EventRecord,
  encodeRecord,
  faultOf,
  type JsonObject,
  KimError,
  limits,
  type ReadRecord,
} from '@kim/manifest'
import { isPlainlyCanonical } from './canonical-line.js'
import type { LinePlace } from './entry.js'
import type { FindingLog } from './findings.js'
import { noteKindOf, notePayload } from './note.js'
import { noteFault } from './note-schema.js'

/** The writer's own rules: every line of a native journal is one that our writer would have written. */
export class SchemaCheck {
  readonly #log: FindingLog

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A valid record and the bytes of its line. */
  record(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void {
    const fault = metaFault(record, effect) ?? lineFault(record, bytes)
    if (fault !== undefined) this.#log.report('schema', { ...place, seq: record.seq }, fault)
  }
}

function metaFault(record: ReadRecord, effect: Effect): string | undefined {
  const kind = noteKindOf(record, effect)
  if (kind === undefined) {
    if (record.item_type === 'journal') return 'item_type journal on a record that is not a note'
    return effect !== 'activity' && record.entity_rev === 0 ? 'a change with revision 0' : undefined
  }
  if (kind === 'federation_apply') return undefined
  if (record.agent !== 'kim' || record.item_type !== 'journal' || record.entity_rev !== 0)
    return 'a note without agent kim, item_type journal and revision 0'
  if (record.item_id !== kind || record.payload === undefined)
    return 'a note that is not named by its kind or has no payload'
  const fault = noteFault(kind, notePayload(record))
  return fault === undefined ? undefined : `a note with a wrong ${fault}`
}

/** Lines so short that no bound on a line or on a payload in it can be passed. */
const shortBytesMax = limits.payloadInlineBytesMax

function lineFault({ raw, seq }: ReadRecord, bytes: Uint8Array): string | undefined {
  const isShort = bytes.length < shortBytesMax && seq <= limits.seqMax
  if (isShort && isPlainlyCanonical(raw, bytes)) {
    const rule = faultOf(asWritten(raw))
    return rule === undefined ? undefined : `a record that breaks the rule of ${rule}`
  }
  try {
    // What the encoder would not have written, it has not written.
    const line = Buffer.from(encodeRecord(asWritten(raw))).subarray(0, -1)
    return Buffer.compare(line, bytes) === 0 ? undefined : 'a line that is not encoded in the canonical form'
  } catch (error) {
    if (error instanceof KimError) return error.message
    throw error
  }
}

/** The writer's rules judge every field themselves. */
function asWritten(raw: JsonObject): EventRecord {
  return raw as unknown as EventRecord
}
