import { forgetsRevision, type Revision } from '@kim/manifest'
import type { StoreFile } from './store-file.js'

type ByType = Map<string, Map<string, number>>

/** What one file removed, of the types that never come back. */
interface Generation {
  readonly file: StoreFile
  readonly revisions: ByType
  /** The last record that removed any of it. */
  seq: number
}

function note(revisions: ByType, itemType: string, itemId: string, revision: number): void {
  const known = revisions.get(itemType)
  if (known === undefined) revisions.set(itemType, new Map([[itemId, revision]]))
  else known.set(itemId, revision)
}

/**
 * The last revisions of entities that were removed. Those of a type that never comes back are kept until a checkpoint
 * covers them, and there are as many as messages come: a number for each, and a segment's worth is let go at a time.
 */
export class RemovedRevisions {
  readonly #kept: ByType = new Map()
  readonly #generations: Generation[] = []

  find(itemType: string, itemId: string): number | undefined {
    if (!forgetsRevision(itemType)) return this.#kept.get(itemType)?.get(itemId)
    for (let at = this.#generations.length - 1; at >= 0; at--) {
      const found = this.#generations[at]?.revisions.get(itemType)?.get(itemId)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** The record with this seq, in this file, removed it; 0 where a checkpoint says that it was removed before. */
  add([itemType, itemId, revision]: Revision, seq: number, file: StoreFile): void {
    if (!forgetsRevision(itemType)) {
      note(this.#kept, itemType, itemId, revision)
      return
    }
    let newest = this.#generations.at(-1)
    if (newest?.file !== file) {
      newest = { file, revisions: new Map(), seq }
      this.#generations.push(newest)
    }
    newest.seq = Math.max(newest.seq, seq)
    note(newest.revisions, itemType, itemId, revision)
  }

  /** It is live again. */
  delete(itemType: string, itemId: string): void {
    this.#kept.get(itemType)?.delete(itemId)
    for (const { revisions } of this.#generations) revisions.get(itemType)?.delete(itemId)
  }

  /** Lets go of what a checkpoint up to this seq covers. */
  forget(headSeq: number): void {
    while ((this.#generations[0]?.seq ?? Number.POSITIVE_INFINITY) <= headSeq) this.#generations.shift()
  }

  /** Those that a checkpoint keeps. */
  *entries(): Generator<Revision> {
    for (const [itemType, revisions] of this.#kept)
      for (const [itemId, revision] of revisions) yield [itemType, itemId, revision]
  }
}
