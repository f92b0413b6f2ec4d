import { Buffer } from 'node:buffer'
import { isJsonObject, isSeq, type JsonObject, type JsonValue, limits } from '@kim/manifest'
import type { Draft } from './draft.js'
import { failure } from './failure.js'
import { NOTE_AGENT, NOTE_TYPE } from './notes.js'

type Rule = (value: JsonValue | undefined) => boolean

const isText: Rule = value => typeof value === 'string'
const areTexts: Rule = value => Array.isArray(value) && value.every(isText)

/** The notes that the journal's users may append, and what each says; all others are the journal's own. */
const openNotes: ReadonlyMap<string, Readonly<Record<string, Rule>>> = new Map<
  string,
  Readonly<Record<string, Rule>>
>([
  [
    'registry_genesis',
    { mode: value => value === 'all' || value === 'list', personas: areTexts, missing: areTexts },
  ],
  ['store_marker', { text: isText }],
  ['producer_started', { version: isText, pid: isSeq, node: isText, platform: isText }],
  ['producer_stopped', { reason: isText }],
])

const ownVerbs = new Set(['journal_note', 'checkpoint_ref', 'seq_repair'])

/** What names something, and is looked up by that name again. */
const names = ['agent', 'action', 'item_type', 'item_id', 'event'] as const

/**
 * Takes a batch in as it will be read back, or throws `record_invalid`: nothing that is no record, nothing that is
 * the journal's own to say, and no name that would be another one once it stood on the disk.
 */
export function validateDrafts(drafts: readonly Draft[]): readonly Draft[] {
  if (!Array.isArray(drafts)) throw refused('a batch must be a list of drafts')
  return drafts.map(draft => {
    const fault = safely(() => faultOf(draft))
    if (fault !== undefined) throw refused(fault)
    return wellFormed(draft)
  })
}

function refused(why: string, cause?: unknown): Error {
  return failure('record_invalid', why, 'nothing of the batch was appended; correct the draft', cause)
}

/** What looks at a draft may run its getters, and those are not ours. */
function safely<T>(look: () => T): T {
  try {
    return look()
  } catch (cause) {
    throw refused('a draft cannot be read', cause)
  }
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
  // It would be asked for another value than the one that was checked.
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
  return fieldFault(kind, payload, rules)
}

function fieldFault(
  kind: string,
  payload: JsonObject,
  rules: Readonly<Record<string, Rule>>,
): string | undefined {
  const broken = Object.entries(rules).find(([field, holds]) => !holds(payload[field]))
  return broken === undefined ? undefined : `a ${kind} note must have a valid ${broken[0]}`
}

function isLonger(text: string, bytes: number): boolean {
  // No character takes more than three bytes, so few have to be measured.
  return text.length * 3 > bytes && Buffer.byteLength(text) > bytes
}

/** Lines hold well-formed text only, and the state must know an entity by the name that its lines bear. */
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
