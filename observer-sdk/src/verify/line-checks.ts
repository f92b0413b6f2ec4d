/** Checks of single lines: whether each is a record, written as our writer writes it, and whether its blob is there. */
import {
  checkpointName,
  type Effect,
  type EventRecord,
  encodeRecord,
  faultOf,
  isCount,
  isJsonObject,
  isSeq,
  isSha256,
  type JsonObject,
  type JsonValue,
  KimError,
  limits,
  type PayloadRef,
  parseCheckpointRef,
  parseSegmentName,
  type ReadRecord,
  sha256Hex,
  type UnterminatedLine,
} from '@kim/manifest'
import { checkBlob } from '../store/blobs.js'
import { AwaitedFindings, type FindingLocation, type FindingLog } from './findings.js'
import type { PassPacer } from './pace.js'
import { digestIn, type LinePlace, type MalformedEntry } from './walk.js'

/** Which note a record is: its kind, or its verb if it has one of its own; nothing if it is no note. */
export function noteKindOf(record: ReadRecord, effect: Effect): string | undefined {
  if (effect !== 'meta') return undefined
  if (record.action !== 'journal_note') return record.action
  const kind = record.payload?.['kind']
  return typeof kind === 'string' ? kind : ''
}

/** A note's payload; empty if it has none. */
export function notePayload(record: ReadRecord): JsonObject {
  return record.payload ?? {}
}

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
function noteFault(kind: string, payload: JsonObject): string | undefined {
  if (payload['schema_version'] !== 1) return undefined
  if (kind === 'checkpoint_ref') return checkpointRefFault(payload)
  const rules = Object.hasOwn(fields, kind) ? fields[kind] : undefined
  for (const [field, holds] of Object.entries(rules ?? {})) {
    if (!holds(payload[field])) return `${kind}.${field}`
  }
  return undefined
}

function checkpointRefFault(payload: JsonObject): string | undefined {
  const ref = parseCheckpointRef(payload)
  if (ref === undefined || ref.head_seq > limits.seqMax) return 'checkpoint_ref'
  return ref.file === checkpointName(ref.head_seq) ? undefined : 'checkpoint_ref.file'
}

/**
 * Whether a line is what the encoder makes of its value, found out by the engine's own serialiser, which is
 * several times faster. Says no where only the encoder can tell: keys the engine reorders, or U+FEFF.
 */
function isPlainlyCanonical(value: JsonObject, bytes: Uint8Array): boolean {
  if (!ascends(value)) return false
  const line = JSON.stringify(value)
  return !line.includes('\ufeff') && Buffer.compare(Buffer.from(line), bytes) === 0
}

/** Whether the keys of every object, at every depth, ascend. */
function ascends(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(ascends)
  let last: string | undefined
  for (const [key, member] of Object.entries(value)) {
    if (last !== undefined && key < last) return false
    if (!ascends(member)) return false
    last = key
  }
  return true
}

/** Why our writer would not have written a line; undefined if it would. Ask of a native journal only. */
export function schemaFault(record: ReadRecord, effect: Effect, bytes: Uint8Array): string | undefined {
  return metaFault(record, effect) ?? lineFault(record, bytes)
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

/** Framing: every terminated line is a record, or a note says what it was. */
export class FramingCheck {
  readonly #log: FindingLog
  readonly #damaged: AwaitedFindings

  constructor(log: FindingLog) {
    this.#log = log
    this.#damaged = new AwaitedFindings(log, 'malformed_line')
  }

  /** A terminated line that is no record. */
  malformed(entry: MalformedEntry): void {
    const { segment, offset, length, reason, bytes } = entry
    const key = lineKey(segment, length, bytes === undefined ? offset : sha256Hex(bytes))
    this.#damaged.hold(key, { segment, offset }, `${reason}, ${length} bytes`)
  }

  /** A line of a later version. */
  future(place: LinePlace): void {
    this.#log.report('future', place, 'a line of a later version')
  }

  /**
   * A note that a torn line was ended. It explains a line of that segment with that length and digest; where
   * the line stands may have changed since, because a redaction of other lines moves it. A line too long to be
   * held has no digest here and is known by its place. brainclaw calls the two offsets `byte_start` and `byte_end`.
   */
  adjudicated(note: JsonObject): void {
    const { segment, byte_start, byte_end, from = byte_start, to = byte_end, sha256 } = note
    if (typeof segment !== 'string' || typeof sha256 !== 'string' || !isCount(from) || !isCount(to)) return
    for (const mark of [sha256, from])
      if (this.#damaged.explain(lineKey(segment, to - from, mark), 'adjudicated')) return
  }

  /** What stands after the last `\n` of a segment. */
  tail(segment: string, isNewest: boolean, pending: UnterminatedLine): void {
    if (pending.length === 0) return
    const place = { segment, offset: pending.offset }
    const detail = `${pending.length} bytes without a line end`
    // No writer will ever end the last line of a segment that has a successor.
    this.#log.report(isNewest ? 'unterminated_tail' : 'malformed_line', place, detail)
  }

  /** Reports every damaged line that no note explained. */
  end(): void {
    this.#damaged.end()
  }
}

function lineKey(segment: string, length: number, mark: string | number): string {
  return `${segment} ${length} ${mark}`
}

const BLOB_FAULTS = { absent: 'blob_missing', mismatch: 'blob_mismatch', unreadable: 'unreadable' } as const

/** Blob closure: every payload that a retained record keeps in a blob is there, whole and unchanged. */
export class BlobCheck {
  readonly #log: FindingLog
  readonly #refs = new Map<string, { readonly ref: PayloadRef; readonly place: FindingLocation }>()

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A record or a checkpoint line that keeps its payload in a blob. */
  ref(ref: PayloadRef, place: FindingLocation): void {
    const key = `${ref.sha256} ${ref.bytes}`
    if (!this.#refs.has(key)) this.#refs.set(key, { ref, place })
  }

  /** Reads every blob once. */
  async end(eventsDir: string, pace: PassPacer): Promise<void> {
    for (const { ref, place } of this.#refs.values()) {
      const fault = checkBlob(eventsDir, ref)
      if (fault !== undefined)
        this.#log.report(
          BLOB_FAULTS[fault.reason],
          place,
          `blob ${ref.sha256}, ${ref.bytes} bytes: ${fault.code}`,
        )
      await pace.turn(ref.bytes)
    }
  }
}
