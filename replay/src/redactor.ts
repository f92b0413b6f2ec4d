/** Takes out of records what people wrote, and leaves what is needed to see what happened. */
import {
  actionClasses,
  alertKinds,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jcs,
  limits,
  type PayloadRef,
  parseArchivedSegmentName,
  parseCheckpointName,
  type ReadRecord,
  type RecordClocks,
} from '@kim/manifest'

/** What a line holds, as far as a redaction must know it. */
export type LineContent =
  | { readonly kind: 'blank' | 'malformed' }
  | { readonly kind: 'record'; readonly record: ReadRecord }
  | { readonly kind: 'future'; readonly seq: number | undefined }

/** What is taken out. */
export type RedactMode = 'none' | 'bodies' | 'all'

/** The modes, for a flag. */
export const REDACT_MODES: readonly RedactMode[] = ['none', 'bodies', 'all']

/** Gives the payload that stands in a blob, if it can be had. */
type BlobReader = (ref: PayloadRef) => JsonObject | undefined

/** Members of payloads, as in the schemas of the manifest. A redactor keeps these names and no others. */
export const PAYLOAD_MEMBERS: ReadonlySet<string> = new Set(
  `
    above_watermark after armed_at before bytes capped_to clipped consecutive_failures content content_length
    created current_max cursor cursor_at dormant_inboxes dropped entities file files first_seq floor from
    head_seq id id_range item_id item_type kind known_from last_seq later missing mode n next_before_id node
    omitted part parts persona personas pid pinned platform project_id proven_down_to read reason reconciled
    records redacted schema_version seconds seeded segment sha256 silent_to skipped source state status
    stranded_inboxes text to tx_id unread_held unread_not_shown unread_urgent urgent_unanswered
    urgent_unanswered_write_only version walk watched window_floor
  `
    .trim()
    .split(/\s+/),
)

type Writable = Record<string, JsonValue | undefined>

const WORD = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,18}(Z|[+-]\d\d:\d\d)$/
const HEX = /^[0-9a-f]{16,64}$/
const VERSION = /^v?\d{1,6}(\.\d{1,6}){0,3}(-[a-z]{1,12}(\.?\d{1,12})?)?$/
const ADDRESS = /^https?:\/\/[A-Za-z0-9.[\]:-]{1,255}\/?$/

const isWord = (text: string): boolean => WORD.test(text)
const isFile = (text: string): boolean =>
  parseArchivedSegmentName(text) !== undefined || parseCheckpointName(text) !== undefined

/** Strings under these names are kept where they have the form that belongs there; any other string may be prose. */
const FORMS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ...['kind', 'status', 'state', 'mode', 'item_type', 'platform'].map(name => [name, isWord] as const),
  ...['segment', 'file'].map(name => [name, isFile] as const),
  ...['sha256', 'project_id'].map(name => [name, (text: string) => HEX.test(text)] as const),
  ...['node', 'version'].map(name => [name, (text: string) => VERSION.test(text)] as const),
  ['created', text => TIME.test(text)],
  ['source', text => ADDRESS.test(text) || isWord(text)],
])
/** Strings under these names, and lists of them, name personas. */
const PERSONAS: ReadonlySet<string> = new Set(['persona', 'from', 'personas', 'missing', 'agent'])
const NAME_CHARS_MAX = 200
const WRITER = /^w_\d+-[0-9a-f]{1,32}$/
const REDACTED = 'redacted'
const JOURNAL = 'journal'
/** Ids of the notes of ours: they hold numbers and hashes, which say what happened to the journal itself. */
const NOTES: ReadonlySet<string> = new Set([...actionClasses.note_kinds, 'checkpoint_ref', 'seq_repair'])
const NUMBER = /^\d{1,16}$/

/** Redacts by one mode; names that were replaced stay recognisable as the same. */
export class Redactor {
  readonly mode: RedactMode
  readonly #known = new Map<string, Map<string, string>>()

  readonly #blob: BlobReader

  constructor(mode: RedactMode, blob: BlobReader = () => undefined) {
    this.mode = mode
    this.#blob = blob
  }

  /** The id of a journal. */
  project(id: string): string {
    return this.mode === 'none' || HEX.test(id) ? id : REDACTED
  }

  /** A line without its `\n`, as it may be shown. */
  line(bytes: Uint8Array, decoded: LineContent): Uint8Array | string {
    if (this.mode === 'none' || decoded.kind === 'blank') return bytes
    if (decoded.kind === 'record') return jcs(this.record(decoded.record))
    const rest = { bytes: bytes.length, redacted_line: true }
    if (decoded.kind !== 'future') return jcs(rest)
    return jcs({ ...rest, ...(decoded.seq === undefined ? {} : { seq: decoded.seq }), v: 3 })
  }

  /** The members of a record that may be shown. */
  record(record: ReadRecord): JsonObject {
    if (this.mode === 'none') return record.raw
    const { seq, ts, writer, agent, action, item_type, item_id, entity_rev, event, clock, tx, summary } =
      record
    return defined({
      v: 2,
      seq,
      ts: this.time(ts),
      writer: writer === undefined || WRITER.test(writer) ? writer : this.#numbered('writer', writer, 'w'),
      agent: agent === undefined ? undefined : this.persona(agent),
      action: this.word(action),
      item_type: this.word(item_type),
      item_id: item_id === undefined ? undefined : this.id(item_type, item_id),
      entity_rev,
      event: event === undefined ? undefined : this.word(event),
      clock: clock === undefined ? undefined : clocksOf(clock),
      // Only what tells the run apart.
      tx: typeof tx === 'object' ? { i: tx.i, id: this.#numbered('tx', tx.id, 't'), n: tx.n } : tx,
      summary: summary === undefined ? undefined : REDACTED,
      payload: this.#payloadOf(record),
    })
  }

  /** The name of a persona. */
  persona(name: string): string {
    if (this.mode !== 'all' || name === 'kim') return name
    return this.#numbered('persona', name, 'p')
  }

  /** The id of an item: whose it is, and its number or kind, where it has this form. */
  id(itemType: string, id: string): string {
    if (this.mode !== 'all') return id
    if (itemType === JOURNAL && NOTES.has(id)) return id
    if (itemType === 'persona') return this.persona(id)
    const slash = id.lastIndexOf('/')
    const tail = id.slice(slash + 1)
    if (slash > 0 && (NUMBER.test(tail) || (itemType === 'alert' && alertKinds.has(tail))))
      return `${this.persona(id.slice(0, slash))}/${tail}`
    return this.#numbered(itemType, id, 'i')
  }

  /** A time that a record states; nothing where it is none. */
  time(ts: string | undefined): string | undefined {
    return this.mode === 'none' || (ts !== undefined && TIME.test(ts)) ? ts : undefined
  }

  /** A word such as a verb, a type or the kind of an alert. */
  word(text: string): string {
    return this.mode === 'none' || WORD.test(text) ? text : 'other'
  }

  /** Prose, where a picture would show it. */
  prose(text: string): string {
    return this.mode === 'none' ? text : REDACTED
  }

  #payloadOf({ payload, payload_ref: ref, item_type }: ReadRecord): JsonObject | undefined {
    const whole = payload ?? (ref === undefined ? undefined : this.#blob(ref))
    const shown = whole === undefined ? undefined : this.#payload(whole, item_type)
    if (ref === undefined || (shown !== undefined && jcs(shown).length <= limits.payloadInlineBytesMax))
      return shown
    return { bytes: ref.bytes, redacted: true, schema_version: 1 }
  }

  #payload(payload: JsonObject, itemType: string): JsonObject {
    // An object in which any key is a key of its own, `__proto__` included.
    const shown = Object.create(null) as Writable
    for (const [member, value] of Object.entries(payload)) {
      if (!WORD.test(member) || value === undefined) continue
      const isOwn = this.mode !== 'all' || PAYLOAD_MEMBERS.has(member)
      const name = isOwn ? member : this.#numbered('member', member, 'm')
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
    return FORMS.get(name)?.(text) === true ? text : REDACTED
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
function clocksOf({ mono_ms, boot_ms, wait_ms }: RecordClocks): JsonObject {
  return defined({ mono_ms, boot_ms, wait_ms })
}

/** Without the members that are undefined. */
function defined(members: Writable): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
