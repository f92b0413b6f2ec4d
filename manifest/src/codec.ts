import { Buffer, isUtf8 } from 'node:buffer'
import stringify from 'fast-json-stable-stringify'
import type { EventRecord, JsonObject, PayloadRef, ReadRecord } from './envelope.js'
import {
  isActor,
  isClock,
  isCount,
  isJsonObject,
  isPayloadRef,
  isSeq,
  isTx,
  nameIn,
  textIn,
} from './envelope.js'
import { KimError } from './errors.js'
import { frameOf } from './frame.js'
import { actionClasses } from './generated/action-classes.js'
import type { AnomalyKind } from './generated/anomalies.js'
import { exceedsNesting, exceedsNumberRange, freezeInRange } from './json-bounds.js'
import { belongsInBlob, limits } from './limits.js'
import { toWellFormed } from './well-formed.js'
import { faultOf } from './writer-rules.js'

/** Why a terminated line is no record. */
export type MalformedReason =
  | 'too_long'
  | 'invalid_utf8'
  | 'invalid_json'
  | 'too_deep'
  | 'number_range'
  | 'not_object'
  | 'wrong_version'
  | 'no_seq'
  | 'no_action'
  | 'no_item_type'
  | 'bad_payload'

/** What one line is. */
export type Decoded =
  | { readonly kind: 'blank' }
  | { readonly kind: 'record'; readonly record: ReadRecord; readonly defects: readonly AnomalyKind[] }
  | { readonly kind: 'future'; readonly seq?: number }
  | { readonly kind: 'malformed'; readonly reason: MalformedReason }

const version = actionClasses.envelope_version
const blank: Decoded = { kind: 'blank' }
const noDefects: readonly AnomalyKind[] = []
const refInvalid: readonly AnomalyKind[] = ['payload_ref_invalid']
const refIgnored: readonly AnomalyKind[] = ['payload_ref_ignored']

const malformed = (reason: MalformedReason): Decoded => ({ kind: 'malformed', reason })

function isBlank(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit !== 0x20 && unit !== 0x09 && unit !== 0x0d) return false
  }
  return true
}

const startsWithBom = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/**
 * Says what one line is, without its `\n`. Total: whatever the bytes, it returns a value and throws nothing.
 * A record is frozen at every depth, because it is mostly shared.
 * Only the first line of a file may begin with a byte order mark.
 */
export function decodeLine(bytes: Uint8Array, atFileStart = false): Decoded {
  if (bytes.length > limits.lineReadBytesMax) return malformed('too_long')
  const line = atFileStart && startsWithBom(bytes) ? bytes.subarray(3) : bytes
  return isUtf8(line) ? decodeText(textOf(line)) : malformed('invalid_utf8')
}

/** As `decodeLine`, by the text of a line: valid UTF-8, no longer than a line may be, without a byte order mark. */
export function decodeText(json: string): Decoded {
  if (isBlank(json)) return blank
  if (exceedsNesting(json)) return malformed('too_deep')
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return malformed('invalid_json')
  }
  if (!freezeInRange(value)) return malformed('number_range')
  return isJsonObject(value) ? decodeObject(value) : malformed('not_object')
}

function textOf(bytes: Uint8Array): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return buffer.toString('utf8')
}

/** A payload by its text, as it stands in a line; nothing if a line with it would be malformed. */
export function parsePayload(json: string): JsonObject | undefined {
  if (exceedsNesting(json, 1)) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return isJsonObject(value) && !exceedsNumberRange(value) ? value : undefined
  } catch {
    return undefined
  }
}

function decodeObject(raw: JsonObject): Decoded {
  const { v, seq, action, item_type: itemType, payload, payload_ref: ref, tx, entity_rev: rev } = raw
  if (v !== version) {
    if (typeof v !== 'number' || v < version) return malformed('wrong_version')
    return isSeq(seq) ? { kind: 'future', seq } : { kind: 'future' }
  }
  if (!isSeq(seq)) return malformed('no_seq')
  if (typeof action !== 'string' || action === '') return malformed('no_action')
  if (typeof itemType !== 'string' || itemType === '') return malformed('no_item_type')
  if (payload !== undefined && !isJsonObject(payload)) return malformed('bad_payload')
  const validRef: PayloadRef | undefined = payload === undefined && isPayloadRef(ref) ? ref : undefined
  const record: ReadRecord = {
    seq,
    action,
    item_type: itemType,
    item_id: nameIn(raw['item_id']),
    writer: textIn(raw['writer']),
    agent: textIn(raw['agent']),
    ts: textIn(raw['ts']),
    entity_rev: isCount(rev) ? rev : undefined,
    summary: textIn(raw['summary']),
    event: nameIn(raw['event']),
    payload,
    payload_ref: validRef,
    tx: tx === undefined ? undefined : isTx(tx) ? tx : 'malformed',
    key: textIn(raw['key']),
    clock: isClock(raw['clock']) ? raw['clock'] : undefined,
    actor: isActor(raw['actor']) ? raw['actor'] : undefined,
    raw,
  }
  let defects = noDefects
  if (ref !== undefined && validRef === undefined) defects = payload === undefined ? refInvalid : refIgnored
  return { kind: 'record', record: Object.freeze(record), defects }
}

/** Only a lone surrogate makes JSON text hold such an escape that is no escaped backslash. */
const mayBeIllFormed = /\\ud[89a-f]/

/**
 * The line of a record, `\n` included, with sorted keys and well-formed strings.
 * Throws `record_invalid`, `record_too_large` or `seq_exhausted` rather than write what a reader would skip.
 */
export function encodeRecord(record: EventRecord): string {
  const fault = faultOf(record)
  if (fault !== undefined) throw new KimError('record_invalid', `a record breaks the rule of ${fault}`)
  if (record.seq > limits.seqMax)
    throw new KimError('seq_exhausted', `seq is above the maximum of ${limits.seqMax}`)
  let written = record
  let line = frameOf(written)
  if (mayBeIllFormed.test(line)) {
    written = toWellFormed(record)
    line = frameOf(written)
  }
  if (exceedsNesting(line) || exceedsNumberRange(written)) {
    throw new KimError('record_invalid', 'the record holds a value that no reader accepts')
  }
  // A reader that looks for U+FEFF in the bytes of a line, rather than in front of its JSON, must find none.
  if (line.includes('\ufeff')) line = line.replaceAll('\ufeff', '\\ufeff')
  line += '\n'
  const bytes = Buffer.byteLength(line)
  if (bytes > limits.lineWrittenBytesMax) {
    throw new KimError(
      'record_too_large',
      `the line has ${bytes} bytes; the maximum is ${limits.lineWrittenBytesMax}`,
    )
  }
  if (belongsInBlob(bytes) && belongsInBlob(Buffer.byteLength(stringify(written.payload ?? null)))) {
    throw new KimError(
      'record_too_large',
      `the payload has more than ${limits.payloadInlineBytesMax} bytes, the maximum inside a line`,
    )
  }
  return line
}
