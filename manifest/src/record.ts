/** What a record is, how its line is decoded, and how our writer encodes it. */
import { Buffer, isUtf8 } from 'node:buffer'
import stringify from 'fast-json-stable-stringify'
import { classOf } from './classify.js'
import { KimError } from './errors.js'
import { actionClasses } from './generated/action-classes.js'
import type { AnomalyKind } from './generated/anomalies.js'
import {
  bufferOf,
  exceedsNesting,
  exceedsNumberRange,
  freezeInRange,
  isCount,
  isJsonObject,
  isSeq,
  isSha256,
  type JsonObject,
  nameIn,
  parseJson,
  textIn,
  toWellFormed,
} from './json.js'
import { belongsInBlob, clipSummary, limits } from './limits.js'

/** Names the blob that holds a payload too large for a line. */
export interface PayloadRef {
  readonly sha256: string
  readonly bytes: number
}

/** The place of a record in its transaction, which a reader sees whole or not at all: number `i` of `n`. */
export interface Tx {
  readonly id: string
  readonly i: number
  readonly n: number
}

/** Clocks read at the same instant as `ts`. A clock that the platform lacks is absent. */
export interface RecordClocks {
  readonly mono_ms?: number
  readonly boot_ms?: number
  readonly wait_ms?: number
}

/** Who caused an action. */
export interface Actor {
  readonly kind: string
  readonly name: string
}

/** What our writer writes: one line of the journal. */
export interface EventRecord {
  readonly v: 2
  readonly seq: number
  readonly ts: string
  readonly writer: string
  readonly agent: string
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev: number
  readonly summary: string
  readonly payload?: JsonObject
  readonly payload_ref?: PayloadRef
  readonly event?: string
  readonly key?: string
  readonly actor?: Actor
  readonly clock?: RecordClocks
  readonly tx?: Tx
}

/** What a reader may rely on, for any writer of the line: every field has been checked or is absent. */
export interface ReadRecord {
  readonly seq: number
  readonly action: string
  readonly item_type: string
  /** Not empty. */
  readonly item_id?: string | undefined
  readonly writer?: string | undefined
  readonly agent?: string | undefined
  readonly ts?: string | undefined
  /** A non-negative safe integer. */
  readonly entity_rev?: number | undefined
  readonly summary?: string | undefined
  /** Not empty. */
  readonly event?: string | undefined
  readonly payload?: JsonObject | undefined
  /** Valid, and never beside a payload. */
  readonly payload_ref?: PayloadRef | undefined
  /** `malformed` if there is a `tx` that no transaction could have. */
  readonly tx?: Tx | 'malformed' | undefined
  readonly key?: string | undefined
  readonly clock?: RecordClocks | undefined
  readonly actor?: Actor | undefined
  /** The whole object as parsed, unknown fields included. */
  readonly raw: JsonObject
}

/** One key for an entity that no other pair of type and id can have. */
export function entityKey(itemType: string, itemId: string): string {
  return JSON.stringify([itemType, itemId])
}

/** True if a value can name a blob. */
export function isPayloadRef(value: unknown): value is PayloadRef & JsonObject {
  return isJsonObject(value) && isSha256(value['sha256']) && isCount(value['bytes'])
}

const isClockReading = (value: unknown): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0)

/** True if a value can be the clocks of a record. */
function isClock(value: unknown): value is RecordClocks & JsonObject {
  return (
    isJsonObject(value) &&
    isClockReading(value['mono_ms']) &&
    isClockReading(value['boot_ms']) &&
    isClockReading(value['wait_ms'])
  )
}

/** True if a value can say who acted. */
function isActor(value: unknown): value is Actor & JsonObject {
  return isJsonObject(value) && typeof value['kind'] === 'string' && typeof value['name'] === 'string'
}

/** True if a value can be a place in a transaction. */
function isTx(value: unknown): value is Tx & JsonObject {
  if (!isJsonObject(value)) return false
  const { id, i, n } = value
  return nameIn(id) !== undefined && isSeq(i) && isSeq(n) && i <= n && n <= limits.txRecordsMax
}

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
  return isUtf8(line) ? decodeText(bufferOf(line).toString('utf8')) : malformed('invalid_utf8')
}

/** As `decodeLine`, by the text of a line: valid UTF-8, no longer than a line may be, without a byte order mark. */
export function decodeText(json: string): Decoded {
  if (isBlank(json)) return blank
  if (exceedsNesting(json)) return malformed('too_deep')
  const value = parseJson(json)
  if (value === undefined) return malformed('invalid_json')
  if (!freezeInRange(value)) return malformed('number_range')
  return isJsonObject(value) ? decodeObject(value) : malformed('not_object')
}

/** The payload in a piece of a line; undefined if a line with it would be malformed. */
export function parsePayload(json: string): JsonObject | undefined {
  const value = exceedsNesting(json, 1) ? undefined : parseJson(json)
  return isJsonObject(value) && !exceedsNumberRange(value) ? value : undefined
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

const tsText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const writerText = /^w_\d+-[0-9a-f]+$/

const fields: ReadonlySet<string> = new Set(
  'action actor agent clock entity_rev event item_id item_type key payload payload_ref seq summary ts tx v writer'.split(
    ' ',
  ),
)

/** The first rule of the writer that a record breaks, if any. */
export function faultOf(r: EventRecord): string | undefined {
  if (r.v !== actionClasses.envelope_version) return 'v'
  if (!isSeq(r.seq)) return 'seq'
  if (!tsText.test(r.ts)) return 'ts'
  if (!writerText.test(r.writer)) return 'writer'
  if (nameIn(r.agent) === undefined) return 'agent'
  const actionClass = classOf(r.action)
  if (actionClass === undefined) return 'action'
  if (nameIn(r.item_type) === undefined) return 'item_type'
  if (nameIn(r.item_id) === undefined) return 'item_id'
  if (!isCount(r.entity_rev)) return 'entity_rev'
  if (textIn(r.summary) === undefined || clipSummary(r.summary) !== r.summary) return 'summary'
  if (r.payload !== undefined && !(isJsonObject(r.payload) && isSeq(r.payload['schema_version'])))
    return 'payload'
  if (r.payload_ref !== undefined) {
    const allowed = r.payload === undefined && actionClass !== 'journal-meta' && isPayloadRef(r.payload_ref)
    if (!allowed) return 'payload_ref'
  }
  if (r.event !== undefined && nameIn(r.event) === undefined) return 'event'
  if (r.key !== undefined && nameIn(r.key) === undefined) return 'key'
  if (r.actor !== undefined && (r.key === undefined || !isActor(r.actor))) return 'actor'
  if (r.clock !== undefined && !isClock(r.clock)) return 'clock'
  if (r.tx !== undefined && !isTx(r.tx)) return 'tx'
  return Object.keys(r).find(key => !fields.has(key))
}

const text = (value: string): string => JSON.stringify(value)

/** Its members are numbers, and every record has one. */
function clockText({ boot_ms, mono_ms, wait_ms }: RecordClocks): string {
  let json = ''
  if (boot_ms !== undefined) json += `,"boot_ms":${boot_ms}`
  if (mono_ms !== undefined) json += `,"mono_ms":${mono_ms}`
  if (wait_ms !== undefined) json += `,"wait_ms":${wait_ms}`
  return `{${json.slice(1)}}`
}

/**
 * The JSON text of a record, byte for byte what `fast-json-stable-stringify` makes of it. The names of a record's
 * own fields are known and sorted here, so only what is inside them has to be sorted.
 */
function frameOf(r: EventRecord): string {
  let json = `{"action":${text(r.action)}`
  if (r.actor !== undefined) json += `,"actor":${stringify(r.actor)}`
  json += `,"agent":${text(r.agent)}`
  if (r.clock !== undefined) json += `,"clock":${clockText(r.clock)}`
  json += `,"entity_rev":${r.entity_rev}`
  if (r.event !== undefined) json += `,"event":${text(r.event)}`
  json += `,"item_id":${text(r.item_id)},"item_type":${text(r.item_type)}`
  if (r.key !== undefined) json += `,"key":${text(r.key)}`
  if (r.payload !== undefined) json += `,"payload":${stringify(r.payload)}`
  if (r.payload_ref !== undefined) json += `,"payload_ref":${stringify(r.payload_ref)}`
  json += `,"seq":${r.seq},"summary":${text(r.summary)},"ts":${text(r.ts)}`
  if (r.tx !== undefined) json += `,"tx":${stringify(r.tx)}`
  return `${json},"v":${r.v},"writer":${text(r.writer)}}`
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

/**
 * The time a journal has come to: the latest that any of its records so far states. It is what ages are counted by,
 * so that everybody who reads the same records counts the same, and a clock that is set back makes nothing younger.
 */
export class JournalTime {
  #latest = ''

  /** Takes in the time of the next record. */
  see(ts: string | undefined): void {
    if (ts !== undefined && ts > this.#latest && tsText.test(ts)) this.#latest = ts
  }

  /** Milliseconds since 1970; NaN before the first record. */
  get ms(): number {
    return Date.parse(this.#latest)
  }
}
