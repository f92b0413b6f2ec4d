import { forgetsRevision } from '@kim/manifest'
import type { Baseline } from './baseline.js'
import type { ContinuityCheck } from './continuity-check.js'
import type { RecordEntry } from './entry.js'
import type { FindingLog } from './findings.js'
import type { HashedState } from './hashed-state.js'

/** Revisions: every change of an entity is one above the one before, deletes included, and none is skipped. */
export class RevisionCheck {
  readonly #log: FindingLog
  readonly #state: HashedState
  readonly #continuity: ContinuityCheck
  readonly #baseline: Readonly<Baseline>

  constructor(
    log: FindingLog,
    state: HashedState,
    continuity: ContinuityCheck,
    baseline: Readonly<Baseline>,
  ) {
    this.#log = log
    this.#state = state
    this.#continuity = continuity
    this.#baseline = baseline
  }

  /** A record that changes an entity, before it has its effect. */
  record(entry: RecordEntry, type: string, id: string): void {
    const rev = entry.record.entity_rev
    if (rev === undefined) return
    const before = this.#state.get(type, id) ?? this.#state.removal(type, id)
    if (before?.rev === undefined && before !== undefined) return
    // A checkpoint does not tell the revisions of removed entities of such a type.
    if (before === undefined && this.#baseline.seq > 0 && forgetsRevision(type)) return
    const known = before?.rev ?? 0
    if (rev === known + 1) return
    // Changes may have been lost where numbers are missing; a revision never goes back or stands still.
    const since = before?.seq ?? this.#baseline.seq
    if (rev > known + 1 && !this.#continuity.knowsBetween(since, entry.seq)) return
    this.#log.report('revision', entry, `${type} ${id}: revision ${rev} after ${known}`)
  }
}
