/** The records in which the journal says something about itself. */
import type { CheckpointRef, JsonObject, ReadRecord } from '@kim/manifest'
import type { Draft } from './draft.js'
import { digestOfChunks } from './listing.js'
import type { AbandonedRun, ScannedRange, Sealed } from './segment-scan.js'
import { canonicalSource, type Store } from './store.js'

/** The agent of everything the journal says about itself. */
export const NOTE_AGENT = 'kim'

/** The item type of everything the journal says about itself. */
export const NOTE_TYPE = 'journal'

/** True for such a note. A record of another program may have the same verb. */
export function isNote({ action, agent, item_type }: ReadRecord): boolean {
  return action === 'journal_note' && agent === NOTE_AGENT && item_type === NOTE_TYPE
}

function ownRecord(action: string, item_id: string, summary: string, payload: JsonObject): Draft {
  return { agent: NOTE_AGENT, action, item_type: NOTE_TYPE, item_id, summary, payload }
}

/** A note of some kind. */
export function journalNote(kind: string, fields: JsonObject, summary: string): Draft {
  return ownRecord('journal_note', kind, summary, { ...fields, kind, schema_version: 1 })
}

/** The first record of a journal. */
export function genesisNote({ clock }: Store, projectId: string, source: string): Draft {
  const created = new Date(clock.wallMs()).toISOString()
  const fields = { project_id: projectId, source: canonicalSource(source), created }
  return journalNote('genesis', fields, 'a new journal')
}

/** The note about the segment before: the first record of every segment but the first. */
export function sealNote(sealed: Sealed, projectId: string): Draft {
  return journalNote(
    'segment_sealed',
    { ...sealed, project_id: projectId },
    `${sealed.segment}: ${sealed.bytes} bytes, seq ${sealed.first_seq} to ${sealed.last_seq}`,
  )
}

/** Names a line that is no record. `bytes` is called only for a line too long to be held. */
export function tornNote(
  segment: string,
  { from, to, sha256 }: ScannedRange,
  bytes: () => Iterable<Uint8Array>,
): Draft {
  const fields = { segment, from, to, sha256: sha256 ?? digestOfChunks(bytes()) }
  return journalNote('torn_tail_adjudicated', fields, `bytes ${from} to ${to} of ${segment} are not a record`)
}

/** Names a transaction that never had an effect. */
export function abandonedNote(segment: string, { began, ...run }: AbandonedRun): Draft {
  return journalNote(
    'tx_abandoned',
    { ...run, segment },
    `${run.records} of ${run.n} records that belong together were written${began ? '' : ', and the first of them are lost'}; they have no effect`,
  )
}

/** Says that these seqs are skipped. */
export function seqRepair(from: number, to: number, reason: string): Draft {
  const summary = `seq ${from} to ${to}: no record`
  return ownRecord('seq_repair', 'seq_repair', summary, { from, to, reason, schema_version: 1 })
}

/** The record that vouches for a checkpoint. */
export function checkpointRef(ref: CheckpointRef): Draft {
  const summary = `${ref.file}: ${ref.entities} entities up to ${ref.head_seq}`
  return ownRecord('checkpoint_ref', 'checkpoint_ref', summary, { ...ref, schema_version: 1 })
}
