import { limits } from './limits.js'

/** Any value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** Names the blob that holds a payload too large to stand in a line. */
export interface PayloadRef {
  readonly sha256: string
  readonly bytes: number
}

/** Place of a record among those a reader must see together: number `i` of `n`. */
export interface Tx {
  readonly id: string
  readonly i: number
  readonly n: number
}

/** Clocks read with `ts` in one instant; what the platform cannot give is absent. */
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

/** What a reader may rely on, whoever wrote the line: every field has been checked or is absent. */
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

/** True for what JSON calls an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for 0, 1, 2 … up to the largest integer a double holds exactly. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** True for 1, 2, 3 … up to the largest integer a double holds exactly. */
export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

const sha256Text = /^[0-9a-f]{64}$/

/** True for 64 lower-case hex digits. */
export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && sha256Text.test(value)
}

/** True if a value can name a blob. */
export function isPayloadRef(value: unknown): value is PayloadRef & JsonObject {
  return isJsonObject(value) && isSha256(value['sha256']) && isCount(value['bytes'])
}

/** A value if it is a string. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A value if it is a string and not empty. */
export function nameIn(value: unknown): string | undefined {
  return value === '' ? undefined : textIn(value)
}

const isClockReading = (value: unknown): boolean =>
  value === undefined || (typeof value === 'number' && value >= 0)

/** True if a value can be the clocks of a record. */
export function isClock(value: unknown): value is RecordClocks & JsonObject {
  return (
    isJsonObject(value) &&
    isClockReading(value['mono_ms']) &&
    isClockReading(value['boot_ms']) &&
    isClockReading(value['wait_ms'])
  )
}

/** True if a value can say who acted. */
export function isActor(value: unknown): value is Actor & JsonObject {
  return isJsonObject(value) && typeof value['kind'] === 'string' && typeof value['name'] === 'string'
}

/** True if a value can be a place in a transaction. */
export function isTx(value: unknown): value is Tx & JsonObject {
  if (!isJsonObject(value)) return false
  const { id, i, n } = value
  return nameIn(id) !== undefined && isSeq(i) && isSeq(n) && i <= n && n <= limits.txRecordsMax
}
