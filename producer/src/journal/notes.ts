import type { JsonObject, ReadRecord } from '@kim/manifest'
import type { Draft } from './draft.js'

/** The agent of everything the journal says about itself. */
export const NOTE_AGENT = 'kim'

/** The item type of everything the journal says about itself. */
export const NOTE_TYPE = 'journal'

/** True for what the journal says about itself; anybody may call a record of theirs by the same verb. */
export function isNote({ action, agent, item_type }: ReadRecord): boolean {
  return action === 'journal_note' && agent === NOTE_AGENT && item_type === NOTE_TYPE
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
