/** Takes out of records what people wrote, and leaves what is needed to see what happened. */
import {
  type Clock,
  type Decoded,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jcs,
  type ReadRecord,
} from '@kim/manifest'

/** What is taken out. */
export type RedactMode = 'none' | 'bodies' | 'all'

/** The modes, for a flag. */
export const REDACT_MODES: readonly RedactMode[] = ['none', 'bodies', 'all']

type Writable = Record<string, JsonValue | undefined>

/** Strings under these names are names, states, times or hashes; any other string may be prose. */
const NAMES: ReadonlySet<string> = new Set([
  ...[
    'kind',
    'status',
    'state',
    'mode',
    'created',
    'segment',
    'file',
    'sha256',
    'project_id',
    'tx_id',
    'node',
  ],
  ...['platform', 'version', 'item_type', 'source'],
])
/** Strings under these names, and lists of them, name personas. */
const PERSONAS: ReadonlySet<string> = new Set(['persona', 'from', 'personas', 'missing', 'agent'])
const NAME_CHARS_MAX = 200
const WORD = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,18}(Z|[+-]\d\d:\d\d)$/
const WRITER = /^w_\d+-[0-9a-f]{1,32}$/
const REDACTED = 'redacted'
/** Notes of ours hold numbers and hashes, which say what happened to the journal itself. */
const JOURNAL = 'journal'

/** Redacts by one mode; names that were replaced stay recognisable as the same. */
export class Redactor {
  readonly mode: RedactMode
  readonly #known = new Map<string, Map<string, string>>()

  constructor(mode: RedactMode) {
    this.mode = mode
  }

  /** A line without its `\n`, as it may be shown. */
  line(bytes: Uint8Array, decoded: Decoded): Uint8Array | string {
    if (this.mode === 'none' || decoded.kind === 'blank') return bytes
    if (decoded.kind === 'record') return jcs(this.record(decoded.record))
    const rest = { bytes: bytes.length, redacted_line: true }
    if (decoded.kind === 'malformed') return jcs(rest)
    return jcs({ ...rest, ...(decoded.seq === undefined ? {} : { seq: decoded.seq }), v: 3 })
  }

  /** The members of a record that may be shown. */
  record(record: ReadRecord): JsonObject {
    if (this.mode === 'none') return record.raw
    const { seq, ts, writer, agent, action, item_type, item_id, entity_rev, event, clock, tx, summary } =
      record
    const shown = empty()
    const put = (name: string, value: JsonValue | undefined): void => {
      if (value !== undefined) shown[name] = value
    }
    put('v', 2)
    put('seq', seq)
    put('ts', ts !== undefined && TIME.test(ts) ? ts : undefined)
    put(
      'writer',
      writer === undefined || WRITER.test(writer) ? writer : this.#numbered('writer', writer, 'w'),
    )
    put('agent', agent === undefined ? undefined : this.persona(agent))
    put('action', WORD.test(action) ? action : 'other')
    put('item_type', WORD.test(item_type) ? item_type : 'other')
    put('item_id', item_id === undefined ? undefined : this.id(item_type, item_id))
    put('entity_rev', entity_rev)
    put('event', event === undefined || WORD.test(event) ? event : 'other')
    put('clock', clock === undefined ? undefined : clocksOf(clock))
    // Only what tells the run apart.
    put(
      'tx',
      tx === undefined || tx === 'malformed'
        ? tx
        : { i: tx.i, id: this.#numbered('tx', tx.id, 't'), n: tx.n },
    )
    put('summary', summary === undefined ? undefined : REDACTED)
    if (record.payload !== undefined) put('payload', this.#payload(record.payload, item_type))
    else if (record.payload_ref !== undefined)
      put('payload', { bytes: record.payload_ref.bytes, redacted: true, schema_version: 1 })
    return shown
  }

  /** The name of a persona. */
  persona(name: string): string {
    if (this.mode !== 'all' || name === 'kim') return name
    return this.#numbered('persona', name, 'p')
  }

  /** The id of an item: whose it is, and its number or kind, where it has this form. */
  id(itemType: string, id: string): string {
    if (this.mode !== 'all' || itemType === JOURNAL) return id
    if (itemType === 'persona') return this.persona(id)
    const parts = /^(.+)\/(\d+|[a-z-]{1,40})$/s.exec(id)
    if (parts !== null) return `${this.persona(parts[1] ?? '')}/${parts[2]}`
    return this.#numbered(itemType, id, 'i')
  }

  /** Prose, where a picture would show it. */
  prose(text: string): string {
    return this.mode === 'none' ? text : REDACTED
  }

  #payload(payload: JsonObject, itemType: string): JsonObject {
    const shown = empty()
    for (const [name, value] of Object.entries(payload)) {
      if (!WORD.test(name) || value === undefined) continue
      if (name === 'item_id' && typeof value === 'string') {
        const type = payload['item_type']
        shown[name] = this.id(typeof type === 'string' ? type : itemType, value)
      } else if (name === 'tx_id' && typeof value === 'string') shown[name] = this.#numbered('tx', value, 't')
      else shown[name] = this.#value(name, value)
    }
    return shown
  }

  #value(name: string, value: JsonValue): JsonValue {
    if (typeof value === 'string') return this.#text(name, value)
    if (Array.isArray(value)) return value.map((item: JsonValue) => this.#value(name, item))
    if (isJsonObject(value)) return this.#payload(value, '')
    return value
  }

  #text(name: string, text: string): string {
    if (text.length > NAME_CHARS_MAX) return REDACTED
    if (PERSONAS.has(name)) return this.persona(text)
    if (name === 'source' && this.mode === 'all') return REDACTED
    return NAMES.has(name) ? text : REDACTED
  }

  #numbered(kind: string, text: string, letter: string): string {
    const known = this.#known.get(kind) ?? new Map<string, string>()
    this.#known.set(kind, known)
    const found = known.get(text)
    if (found !== undefined) return found
    const name = `${letter}${known.size + 1}`
    known.set(text, name)
    return name
  }
}

/** The clocks, and nothing that stands beside them. */
function clocksOf({ mono_ms, boot_ms, wait_ms }: Clock): JsonObject {
  return {
    ...(mono_ms === undefined ? {} : { mono_ms }),
    ...(boot_ms === undefined ? {} : { boot_ms }),
    ...(wait_ms === undefined ? {} : { wait_ms }),
  }
}

/** An object in which any key is a key of its own, `__proto__` included. */
function empty(): Writable {
  return Object.create(null) as Writable
}
