import { type EventRecord, effectOf, encodeRecord, KimError, type ReadRecord } from '@kim/manifest'
import type { LinePlace } from './entry.js'
import type { FindingLog } from './findings.js'
import { noteKindOf, notePayload } from './note.js'
import { noteFault } from './note-schema.js'

const envelopeFields: ReadonlySet<string> = new Set([
  'action',
  'actor',
  'agent',
  'clock',
  'entity_rev',
  'event',
  'item_id',
  'item_type',
  'key',
  'payload',
  'payload_ref',
  'seq',
  'summary',
  'ts',
  'tx',
  'v',
  'writer',
])

/** The writer's own rules: every line of a native journal is one that our writer would have written. */
export class SchemaCheck {
  readonly #log: FindingLog

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A valid record and the bytes of its line. */
  record(record: ReadRecord, bytes: Uint8Array, place: LinePlace): void {
    const fault = envelopeFault(record) ?? metaFault(record) ?? lineFault(record, bytes)
    if (fault !== undefined) this.#log.report('schema', { ...place, seq: record.seq }, fault)
  }
}

function envelopeFault({ raw, clock }: ReadRecord): string | undefined {
  for (const field of Object.keys(raw))
    if (!envelopeFields.has(field)) return `a field ${field} that the envelope has not`
  if (raw['clock'] === undefined) return undefined
  const readings = Object.values(clock ?? { clock: -1 })
  return readings.every(reading => reading >= 0) ? undefined : 'a clock that is no reading'
}

function metaFault(record: ReadRecord): string | undefined {
  const kind = noteKindOf(record)
  if (kind === undefined) {
    if (record.item_type === 'journal') return 'item_type journal on a record that is no note'
    const changes = effectOf(record) !== 'activity'
    return changes && record.entity_rev === 0 ? 'a change with revision 0' : undefined
  }
  if (kind === 'federation_apply') return undefined
  if (record.agent !== 'kim' || record.item_type !== 'journal' || record.entity_rev !== 0)
    return 'a note without agent kim, item_type journal and revision 0'
  if (record.item_id !== kind || record.payload === undefined)
    return 'a note that is not named by its kind or has no payload'
  const fault = noteFault(kind, notePayload(record))
  return fault === undefined ? undefined : `a note with a wrong ${fault}`
}

/** What the encoder would not have written, it has not written. */
function lineFault(record: ReadRecord, bytes: Uint8Array): string | undefined {
  try {
    // The encoder judges every field itself.
    const line = encodeRecord(record.raw as unknown as EventRecord)
    return Buffer.compare(Buffer.from(line).subarray(0, -1), bytes) === 0
      ? undefined
      : 'a line that is not encoded as our writer encodes it'
  } catch (error) {
    if (error instanceof KimError) return error.message
    throw error
  }
}
