// Generated from anomalies.json by `npm run gen`; edit the JSON.

/** What a reader counts. */
export type AnomalyKind =
  | 'malformed'
  | 'future'
  | 'duplicate_line'
  | 'duplicate_same_writer'
  | 'duplicate_other_writer'
  | 'duplicate_overwrite'
  | 'entity_rev_jump'
  | 'seq_hole'
  | 'seq_regressed'
  | 'tx_incomplete'
  | 'payload_ref_invalid'
  | 'payload_ref_ignored'
  | 'blob_missing'
  | 'blob_mismatch'
  | 'segment_misnamed'
  | 'checkpoint_rejected'
  | 'segment_shrunk'
  | 'segment_replaced'
  | 'segment_grown'
  | 'store_replaced'
  | 'unreadable'
  | 'close_failed'

/** Each kind with its severity and meaning. */
export const anomalies = {
  malformed: {
    severity: 'error',
    means: 'a terminated line that is neither blank, nor a record, nor of a later version',
  },
  future: {
    severity: 'warning',
    means: 'a line of a later envelope version',
  },
  duplicate_line: {
    severity: 'warning',
    means: 'the bytes of an earlier line of the same segment again; skipped',
  },
  duplicate_same_writer: {
    severity: 'error',
    means: 'another record of one writer with a seq it had used',
  },
  duplicate_other_writer: {
    severity: 'warning',
    means: 'a seq that another writer had used',
  },
  duplicate_overwrite: {
    severity: 'warning',
    means: 'two writers made the same revision of one entity under one seq',
  },
  entity_rev_jump: {
    severity: 'warning',
    means: 'a revision more than one above the last known: changes may be lost',
  },
  seq_hole: {
    severity: 'warning',
    means: 'a run of numbers that no line holds and no repair explains',
  },
  seq_regressed: {
    severity: 'warning',
    means: 'a seq below the highest that no earlier record had',
  },
  tx_incomplete: {
    severity: 'warning',
    means: 'a record of a transaction that is not complete, so without effect',
  },
  payload_ref_invalid: {
    severity: 'error',
    means: 'a payload_ref that can name no blob',
  },
  payload_ref_ignored: {
    severity: 'warning',
    means: 'a payload_ref beside a payload, which wins',
  },
  blob_missing: {
    severity: 'error',
    means: 'a live payload whose blob is absent',
  },
  blob_mismatch: {
    severity: 'error',
    means: 'a live payload whose blob holds other bytes',
  },
  segment_misnamed: {
    severity: 'warning',
    means: 'a file that looks like a segment under no legal name',
  },
  checkpoint_rejected: {
    severity: 'warning',
    means: 'a checkpoint that did not verify',
  },
  segment_shrunk: {
    severity: 'error',
    means: 'a segment became shorter while it was read',
  },
  segment_replaced: {
    severity: 'warning',
    means: "another file took a segment's name while it was read",
  },
  segment_grown: {
    severity: 'warning',
    means: 'a segment before the newest one grew: a writer that had stalled appended to it',
  },
  store_replaced: {
    severity: 'warning',
    means: "another directory took the store's place while it was read",
  },
  unreadable: {
    severity: 'error',
    means: 'a file of the store that the system would not let us read',
  },
  close_failed: {
    severity: 'warning',
    means: 'a file that was only read, and whose close the system reported as failed',
  },
} as const
