import type { Rules } from './rules.js'

/** What a reader takes from one valid record; everything else in the line is of no account here. */
export interface NaiveRecord {
  seq: number
  action: string
  itemType: string
  /** Undefined unless it is a non-empty string: only then can a record change state. */
  itemId: string | undefined
  /** Null if the line has none. */
  writer: string | null
  /** Undefined unless it is a non-negative safe integer. */
  rev: number | undefined
  event: string | undefined
  payload: object | undefined
  payloadRef: BlobRef | undefined
  tx: Tx | 'malformed' | undefined
  refInvalid: boolean
  refIgnored: boolean
}

export interface BlobRef {
  sha256: string
  bytes: number
}

interface Tx {
  id: string
  i: number
  n: number
}

export type NaiveLine =
  | { kind: 'blank' }
  | { kind: 'malformed' }
  | { kind: 'future'; seq: number | undefined }
  | { kind: 'record'; record: NaiveRecord }

const malformed: NaiveLine = { kind: 'malformed' }

/** Decodes the bytes of one terminated line (without its LF). */
export function decodeLine(bytes: Buffer, atFileStart: boolean, rules: Rules): NaiveLine {
  if (bytes.length > rules.limits.line_read_bytes_max.value) return malformed
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return malformed
  }
  if (atFileStart && text.startsWith('\uFEFF')) text = text.slice(1)
  if (/^[ \t\r]*$/.test(text)) return { kind: 'blank' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return malformed
  }
  if (nestingOf(text) > rules.limits.nesting_levels_max.value || holdsInfinity(value)) return malformed
  if (!isObject(value)) return malformed
  return decodeObject(value, rules)
}

function decodeObject(value: object, rules: Rules): NaiveLine {
  const v = field(value, 'v')
  const seq = field(value, 'seq')
  const seqIsValid = isSafe(seq) && seq > 0
  if (typeof v === 'number' && v > 2) return { kind: 'future', seq: seqIsValid ? seq : undefined }
  if (v !== 2 || !seqIsValid) return malformed
  const action = field(value, 'action')
  const itemType = field(value, 'item_type')
  if (!isText(action) || !isText(itemType)) return malformed
  const payload = field(value, 'payload')
  if (Object.hasOwn(value, 'payload') && !isObject(payload)) return malformed

  const itemId = field(value, 'item_id')
  const writer = field(value, 'writer')
  const rev = field(value, 'entity_rev')
  const event = field(value, 'event')
  const hasRef = Object.hasOwn(value, 'payload_ref')
  const ref = readRef(field(value, 'payload_ref'))
  return {
    kind: 'record',
    record: {
      seq,
      action,
      itemType,
      itemId: isText(itemId) ? itemId : undefined,
      writer: typeof writer === 'string' ? writer : null,
      rev: isSafe(rev) && rev >= 0 ? rev : undefined,
      event: isText(event) ? event : undefined,
      payload: isObject(payload) ? payload : undefined,
      payloadRef: isObject(payload) ? undefined : ref,
      tx: Object.hasOwn(value, 'tx')
        ? readTx(field(value, 'tx'), rules.limits.tx_records_max.value)
        : undefined,
      refIgnored: hasRef && isObject(payload),
      refInvalid: hasRef && !isObject(payload) && ref === undefined,
    },
  }
}

export function readRef(value: unknown): BlobRef | undefined {
  if (!isObject(value)) return undefined
  const sha256 = field(value, 'sha256')
  const bytes = field(value, 'bytes')
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return undefined
  return isSafe(bytes) && bytes >= 0 ? { sha256, bytes } : undefined
}

function readTx(value: unknown, max: number): Tx | 'malformed' {
  if (!isObject(value)) return 'malformed'
  const id = field(value, 'id')
  const i = field(value, 'i')
  const n = field(value, 'n')
  if (!isText(id) || !isSafe(i) || !isSafe(n)) return 'malformed'
  return i >= 1 && i <= n && n <= max ? { id, i, n } : 'malformed'
}

/** Own fields only, so that `__proto__` and `constructor` are names like any other. */
export function field(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

export function isSafe(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** What a line could hold as its payload, if the text is that. */
export function payloadIn(text: string, rules: Rules): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // One level more stands around it in a line.
    if (nestingOf(text) >= rules.limits.nesting_levels_max.value || holdsInfinity(value)) return undefined
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** How deep arrays and objects stand inside one another in a valid JSON text, the outermost counted. */
function nestingOf(json: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < json.length; at++) {
    const mark = json[at]
    if (inString && mark === '\\') at += 1
    else if (mark === '"') inString = !inString
    else if (!inString && (mark === '[' || mark === '{')) deepest = Math.max(deepest, ++depth)
    else if (!inString && (mark === ']' || mark === '}')) depth -= 1
  }
  return deepest
}

function holdsInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInfinity)
}
