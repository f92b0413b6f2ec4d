import type { JsonObject } from '@kim/manifest'
import type { Draft } from './draft.js'

/** The agent of everything the journal says about itself. */
const NOTE_AGENT = 'kim'

/** The item type of everything the journal says about itself. */
export const NOTE_TYPE = 'journal'

/** The notes that the journal's users may append; all others are the journal's own. */
const OPEN_KINDS = new Set(['registry_genesis', 'store_marker', 'producer_started', 'producer_stopped'])

/** True for a draft that only the journal itself may append. */
export function isReserved(draft: Draft): boolean {
  if (draft.item_type !== NOTE_TYPE) return draft.action === 'checkpoint_ref' || draft.action === 'seq_repair'
  const kind = draft.payload?.['kind']
  return draft.action !== 'journal_note' || typeof kind !== 'string' || !OPEN_KINDS.has(kind)
}

/** A note of some kind. */
export function journalNote(kind: string, fields: JsonObject, summary: string): Draft {
  return {
    agent: NOTE_AGENT,
    action: 'journal_note',
    item_type: NOTE_TYPE,
    item_id: kind,
    summary,
    payload: { ...fields, kind, schema_version: 1 },
  }
}

/** The one record that is about numbers: these were skipped. */
export function seqRepair(from: number, to: number, reason: string): Draft {
  return {
    agent: NOTE_AGENT,
    action: 'seq_repair',
    item_type: NOTE_TYPE,
    item_id: 'seq_repair',
    summary: `numbers ${from} to ${to} hold no record`,
    payload: { from, to, reason, schema_version: 1 },
  }
}

/** What vouches for a checkpoint. */
export function checkpointRef(fields: {
  readonly file: string
  readonly sha256: string
  readonly bytes: number
  readonly head_seq: number
  readonly entities: number
}): Draft {
  return {
    agent: NOTE_AGENT,
    action: 'checkpoint_ref',
    item_type: NOTE_TYPE,
    item_id: 'checkpoint_ref',
    summary: `${fields.file}: ${fields.entities} entities up to ${fields.head_seq}`,
    payload: { ...fields, schema_version: 1 },
  }
}
