import { type EntityTable, forgetsRevision, type Revision } from '@kim/manifest'

/**
 * The last revisions of entities that were removed. Those of a type that never comes back are kept until a checkpoint
 * covers them, and there are as many as messages come: then their slots in the table are other entities'.
 */
export class RemovedRevisions {
  readonly #entities: EntityTable<unknown>
  /** Slot to the seq of the last removal, for entities of such types, in the order of their removal. */
  readonly #forgettable: Map<number, number> = new Map()

  constructor(entities: EntityTable<unknown>) {
    this.#entities = entities
  }

  /** The record with this seq removed it; 0 where a checkpoint says that it was removed before. */
  add(itemType: string, itemId: string, seq: number): void {
    if (!forgetsRevision(itemType)) return
    const slot = this.#entities.slotOf(itemType, itemId)
    // Without a revision there is nothing to keep.
    if (slot < 0) return
    this.#forgettable.delete(slot)
    this.#forgettable.set(slot, seq)
  }

  /** It is live again. */
  delete(itemType: string, itemId: string): void {
    if (this.#forgettable.size === 0 || !forgetsRevision(itemType)) return
    this.#forgettable.delete(this.#entities.slotOf(itemType, itemId))
  }

  /** Forgets what a checkpoint up to this seq covers. */
  forget(headSeq: number): void {
    for (const [slot, seq] of this.#forgettable) {
      if (seq > headSeq) continue
      this.#forgettable.delete(slot)
      this.#entities.forget(slot)
    }
  }

  /** Those that a checkpoint keeps. */
  *entries(): Generator<Revision> {
    for (const revision of this.#entities.removed()) if (!forgetsRevision(revision[0])) yield revision
  }
}
