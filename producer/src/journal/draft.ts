/** What a caller may append, and the check of it. */
import { Buffer } from 'node:buffer'
import { type Actor, isJsonObject, isSeq, type JsonObject, type JsonValue, limits } from '@kim/manifest'
import { failure } from './failure.js'
import { NOTE_AGENT, NOTE_TYPE } from './notes.js'

/** What a caller wants recorded. Everything else of a record is the journal's to give. */
export interface Draft {
  readonly agent: string
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  /** Cut to the limit if it is longer. */
  readonly summary: string
  /** The full state after the change, with its own `schema_version`. */
  readonly payload?: JsonObject | undefined
  readonly event?: string | undefined
  /** Idempotency key: appended at most once in thirty days. */
  readonly key?: string | undefined
  readonly actor?: Actor | undefined
  /** Time since the response that brought the fact was complete. */
  readonly wait_ms?: number | undefined
}

/** Says that a batch is durable: it survives the loss of power. */
export interface Receipt {
  /** One per draft, in their order. */
  readonly seqs: readonly number[]
  /** True where a draft's key was known: nothing was appended, and the seq is the first one's. */
  readonly deduped: readonly boolean[]
}

/** How a batch is to be appended. */
export interface AppendOptions {
  /** All or nothing, for every reader, whatever happens. */
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
  return {
    ...draft,
    agent: agent.toWellFormed(),
    action: action.toWellFormed(),
    item_type: item_type.toWellFormed(),
    item_id: item_id.toWellFormed(),
    event: event?.toWellFormed(),
  }
}
