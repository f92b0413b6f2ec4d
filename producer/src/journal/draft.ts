/** From a draft to its bytes: what a caller may append, the check of it, and the lines of one commit. */
import { Buffer } from 'node:buffer'
import {
  type Actor,
  belongsInBlob,
  clipSummary,
  type Effect,
  type EventRecord,
  effectOf,
  encodeRecord,
  isJsonObject,
  isSeq,
  type JsonObject,
  type JsonValue,
  jcs,
  KimError,
  limits,
  type PayloadRef,
  type RecordClocks,
  type Tx,
  toWellFormed,
} from '@kim/manifest'
import { writeBlob } from './blobs.js'
import { failure } from './disk-errors.js'
import type { JournalState } from './journal-state.js'
import { NOTE_AGENT, NOTE_TYPE } from './notes.js'
import type { Store } from './store.js'

/** What a caller wants recorded. The journal adds the rest of the record. */
export interface Draft {
  /** The persona or program that the record is about. It has at most 4096 bytes, as all names here. */
  readonly agent: string
  /** The verb of the record, such as `create`, `update` or `delete`. */
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  /** One line for people. It is cut to 200 code points. */
  readonly summary: string
  /** The full state after the change, with its own `schema_version`. Without it, the entity keeps its state. */
  readonly payload?: JsonObject | undefined
  /** The name of the event, if the record announces one. */
  readonly event?: string | undefined
  /** A name for this change: a draft with the same key is appended at most once in thirty days. */
  readonly key?: string | undefined
  /** Who caused the change. */
  readonly actor?: Actor | undefined
  /** Milliseconds since the response that brought the fact was complete. */
  readonly wait_ms?: number | undefined
}

/** Says that a batch is durable: it survives the loss of power. */
export interface Receipt {
  /** The seq of each draft, in their order. */
  readonly seqs: readonly number[]
  /** True for each draft whose key was known: nothing was appended, and the seq is that of the first record. */
  readonly deduped: readonly boolean[]
}

/** How a batch is appended. */
export interface AppendOptions {
  /** True for a transaction: every reader sees all of it or nothing of it. */
  readonly tx?: boolean | undefined
}

type Rule = (value: JsonValue | undefined) => boolean

const isText: Rule = value => typeof value === 'string'
const areTexts: Rule = value => Array.isArray(value) && value.every(isText)

/** The notes that callers may append, with the rules for their fields. Only the journal itself appends others. */
const openNotes = new Map<string, Readonly<Record<string, Rule>>>([
  [
    'registry_genesis',
    { mode: value => value === 'all' || value === 'list', personas: areTexts, missing: areTexts },
  ],
  ['store_marker', { text: isText }],
  ['producer_started', { version: isText, pid: isSeq, node: isText, platform: isText }],
  ['producer_stopped', { reason: isText }],
])

const ownVerbs = new Set(['journal_note', 'checkpoint_ref', 'seq_repair'])

/** The members of a draft by which records are found again. */
const names = ['agent', 'action', 'item_type', 'item_id', 'event'] as const

/**
 * Returns a batch as it will be read back, or throws `record_invalid`: for a draft that makes no record, and for one that
 * only the journal itself may append.
 */
export function validateDrafts(drafts: readonly Draft[]): readonly Draft[] {
  if (!Array.isArray(drafts)) throw refused('a batch must be a list of drafts')
  return drafts.map(draft => {
    let fault: string | undefined
    try {
      fault = faultOf(draft)
    } catch (cause) {
      // A draft may have getters, and those are not ours.
      throw refused('a draft cannot be read', cause)
    }
    if (fault !== undefined) throw refused(fault)
    return wellFormed(draft)
  })
}

function refused(why: string, cause?: unknown): Error {
  return failure('record_invalid', why, 'nothing of the batch was appended; correct the draft', cause)
}

function faultOf(draft: Draft): string | undefined {
  if (!isJsonObject(draft)) return 'a draft must be an object'
  const { summary, key, payload } = draft
  for (const name of names) {
    const value = draft[name]
    if (value === undefined && name === 'event') continue
    if (typeof value !== 'string') return `${name} must be a string`
    if (isLonger(value, limits.nameBytesMax)) return `${name} must have at most ${limits.nameBytesMax} bytes`
  }
  if (typeof summary !== 'string') return 'summary must be a string'
  if (key !== undefined) {
    if (typeof key !== 'string' || !key.isWellFormed()) return 'key must be a well-formed string'
    if (isLonger(key, limits.keyBytesMax)) return `key must have at most ${limits.keyBytesMax} bytes`
  }
  // With a toJSON, the stored value would not be the one that was checked.
  if (payload !== undefined && (!isJsonObject(payload) || typeof payload['toJSON'] === 'function')) {
    return 'payload must be a plain object without toJSON'
  }
  if (draft.action === 'delete' && draft.item_type === 'message') return 'only retention may delete messages'
  return noteFault(draft)
}

function noteFault({ action, agent, item_type, item_id, payload }: Draft): string | undefined {
  if (!ownVerbs.has(action) && item_type !== NOTE_TYPE) return undefined
  const kind = payload?.['kind']
  const rules = typeof kind === 'string' ? openNotes.get(kind) : undefined
  if (action !== 'journal_note' || payload === undefined || rules === undefined) {
    return `only the journal itself may write ${action} of ${item_type}`
  }
  if (agent !== NOTE_AGENT || item_type !== NOTE_TYPE || item_id !== kind) {
    return `a note must have the item ${NOTE_TYPE} ${kind} and the agent ${NOTE_AGENT}`
  }
  const broken = Object.entries(rules).find(([field, holds]) => !holds(payload[field]))
  return broken === undefined ? undefined : `a ${kind} note must have a valid ${broken[0]}`
}

function isLonger(text: string, bytes: number): boolean {
  // No character takes more than three bytes, so few have to be measured.
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

/** Lines hold well-formed text only, and the state must know an entity by the name that is in its lines. */
function wellFormed(draft: Draft): Draft {
  if (names.every(name => draft[name]?.isWellFormed() !== false)) return draft
  const { agent, action, item_type, item_id, event } = draft
  return { ...draft, ...toWellFormed({ agent, action, item_type, item_id, event }) }
}

/** A record in a commit, and where in the commit's bytes its line is. */
export interface BuiltRecord {
  readonly record: EventRecord
  readonly effect: Effect
  readonly offset: number
  /** Without the `\n`. */
  readonly length: number
}

/** The time of a commit, and what the other clocks say then. */
function readClocks({ clock }: Store): { readonly ts: string; readonly clocks: RecordClocks } {
  const wall = new Date(clock.wallMs())
  if (Number.isNaN(wall.getTime())) {
    throw failure(
      'record_invalid',
      'the system clock returned an invalid time',
      'nothing was appended; correct the clock',
    )
  }
  const mono_ms = clock.monoMs()
  const boot_ms = clock.bootMs?.()
  return { ts: wall.toISOString(), clocks: boot_ms === undefined ? { mono_ms } : { mono_ms, boot_ms } }
}

/** Bytes that one UTF-16 code unit may take. */
const UTF8_BYTES_MAX = 3

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * Turns drafts into the bytes of one commit. It reads the state and the records built before, and changes neither: the
 * appender does that once the bytes are durable.
 */
export class CommitBuilder {
  readonly #store: Store
  readonly #state: JournalState
  readonly #writer: string
  readonly #scratch: Buffer
  readonly #time: ReturnType<typeof readClocks>
  /** The ids built so far: only one of them can have a revision that the state does not know yet. */
  readonly #ids: Set<string> = new Set()
  readonly #keys: Map<string, number> = new Map()
  /** The records in the order of their lines. */
  readonly built: BuiltRecord[] = []
  readonly #firstSeq: number
  #bytes = 0

  constructor(store: Store, state: JournalState, writer: string, firstSeq: number, scratch: Buffer) {
    this.#store = store
    this.#state = state
    this.#writer = writer
    this.#firstSeq = firstSeq
    this.#scratch = scratch
    this.#time = readClocks(store)
  }

  /** The lines; valid until the scratch buffer is used again. */
  get bytes(): Buffer {
    return this.#scratch.subarray(0, this.#bytes)
  }

  /** Adds a batch whole, or nothing of it. The receipt holds once the bytes are durable. */
  add(drafts: readonly Draft[], options: AppendOptions): Receipt {
    const { length } = this.built
    try {
      return this.#addAll(drafts, options.tx === true)
    } catch (error) {
      this.#undo(length)
      throw error
    }
  }

  #addAll(drafts: readonly Draft[], asRun: boolean): Receipt {
    const known = drafts.map(draft => this.#knownSeq(draft))
    const answered = known.filter(seq => seq !== undefined).length
    const fresh = drafts.length - answered - this.#repeats(drafts, known)
    if (asRun && fresh > 0 && answered > 0) {
      throw failure(
        'record_invalid',
        `${answered} of the ${drafts.length} keys of a transaction are known`,
        'nothing was appended; to retry a transaction, use exactly the same keys',
      )
    }
    if (this.built.length + fresh > limits.commitRecordsMax) throw this.#tooLarge()
    const run = asRun && fresh > 1 ? { id: this.#store.random.hex(8), n: fresh } : undefined
    const seqs: number[] = []
    const deduped: boolean[] = []
    let i = 0
    for (const [at, draft] of drafts.entries()) {
      const seq = known[at] ?? this.#knownSeq(draft)
      deduped.push(seq !== undefined)
      if (seq === undefined) i++
      seqs.push(seq ?? this.#append(draft, run === undefined ? undefined : { ...run, i }))
    }
    return { seqs, deduped }
  }

  /** How many drafts have the key of an earlier draft of the same batch: they become one record with it. */
  #repeats(drafts: readonly Draft[], known: readonly (number | undefined)[]): number {
    if (this.#store.switches.skipKeyLookup === true) return 0
    const keys = drafts.flatMap(({ key }, at) => (key === undefined || known[at] !== undefined ? [] : [key]))
    return keys.length - new Set(keys).size
  }

  #knownSeq({ key }: Draft): number | undefined {
    if (key === undefined || this.#store.switches.skipKeyLookup === true) return undefined
    return this.#keys.get(key) ?? this.#state.keys.find(key)
  }

  #append(draft: Draft, tx: Tx | undefined): number {
    const seq = this.#firstSeq + this.built.length
    const { record, line } = this.#encode(this.#describe(draft, seq, tx))
    const room = this.#scratch.length - this.#bytes
    // No character takes more than three bytes, so few lines have to be measured.
    if (line.length * UTF8_BYTES_MAX > room && Buffer.byteLength(line) > room) throw this.#tooLarge()
    const length = this.#scratch.write(line, this.#bytes, 'utf8')
    const effect = effectOf(record)
    this.built.push({ record, effect, offset: this.#bytes, length: length - 1 })
    this.#ids.add(record.item_id)
    if (record.key !== undefined) this.#keys.set(record.key, seq)
    this.#bytes += length
    return seq
  }

  #describe(draft: Draft, seq: number, tx: Tx | undefined): EventRecord {
    const { clocks } = this.#time
    const record: Mutable<EventRecord> = {
      v: 2,
      seq,
      ts: this.#time.ts,
      writer: this.#writer,
      agent: draft.agent,
      action: draft.action,
      item_type: draft.item_type,
      item_id: draft.item_id,
      entity_rev: this.#revision(draft),
      summary: typeof draft.summary === 'string' ? clipSummary(draft.summary) : draft.summary,
      clock: draft.wait_ms === undefined ? clocks : { ...clocks, wait_ms: draft.wait_ms },
    }
    if (draft.payload !== undefined) record.payload = draft.payload
    if (draft.event !== undefined) record.event = draft.event
    if (draft.key !== undefined) record.key = draft.key
    if (draft.actor !== undefined) record.actor = draft.actor
    if (tx !== undefined) record.tx = tx
    return record
  }

  /** One more than the last for a change of state, the last for anything else about the entity; notes have none. */
  #revision(draft: Draft): number {
    if (draft.item_type === NOTE_TYPE) return 0
    const last = this.#lastRevision(draft.item_type, draft.item_id)
    const effect = effectOf(draft)
    return effect === 'upsert' || effect === 'remove' ? last + 1 : last
  }

  #lastRevision(itemType: string, itemId: string): number {
    if (this.#ids.has(itemId)) {
      for (let at = this.built.length - 1; at >= 0; at--) {
        const built = this.built[at]
        if (built?.record.item_id !== itemId || built.record.item_type !== itemType) continue
        if (built.effect === 'upsert' || built.effect === 'remove') return built.record.entity_rev
      }
    }
    return this.#state.entities.revisionOf(itemType, itemId) ?? 0
  }

  /** The line of a record; a payload that is too large for one goes into a blob first. */
  #encode(record: EventRecord): { readonly record: EventRecord; readonly line: string } {
    try {
      return { record, line: encodeRecord(record) }
    } catch (error) {
      // A value that JSON cannot carry (a cycle, a BigInt) is the caller's mistake, not the end of the journal.
      if (!(error instanceof KimError)) {
        throw failure(
          'record_invalid',
          'a draft holds a value that JSON cannot represent',
          'nothing was appended',
          error,
        )
      }
      if (error.code !== 'record_too_large' || record.payload === undefined) throw error
      if (record.item_type === NOTE_TYPE) throw error
      const bytes = Buffer.from(jcs(toWellFormed(record.payload)))
      if (!belongsInBlob(bytes.length)) throw error
      const { payload, ...rest } = record
      const payload_ref: PayloadRef = writeBlob(this.#store, bytes)
      const referring: EventRecord = { ...rest, payload_ref }
      return { record: referring, line: encodeRecord(referring) }
    }
  }

  #tooLarge(): KimError {
    return failure(
      'commit_too_large',
      `more than ${limits.commitRecordsMax} records or ${limits.commitBytesMax} bytes in one commit`,
      'nothing of the batch was appended; commit fewer records at once',
    )
  }

  /** Forgets the records of a refused batch: those after the first `count`. */
  #undo(count: number): void {
    this.#bytes = this.built[count]?.offset ?? this.#bytes
    this.built.length = count
    // `#ids` may keep too many: an id too many costs a search that finds nothing.
    this.#keys.clear()
    for (const { record } of this.built) if (record.key !== undefined) this.#keys.set(record.key, record.seq)
  }
}
