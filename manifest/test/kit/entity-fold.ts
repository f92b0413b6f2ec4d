import {
  type Entity,
  entersActivity,
  Fold,
  type FoldedRecord,
  type FoldStart,
  limits,
  type Revision,
  RingBuffer,
  upsertedEntity,
} from '@kim/manifest'
import type { FoldOptions } from '../../dist/fold.js'

/** Where a fold of entities begins. */
export interface EntityFoldStart extends FoldStart {
  readonly entities?: Iterable<Entity>
  readonly revisions?: Iterable<Revision>
}

/** A fold of whole entities that counts repeated records and remembers the newest activity. */
export class EntityFold extends Fold<Entity> {
  readonly #activity: RingBuffer<FoldedRecord>

  constructor(start: EntityFoldStart = {}, { onRecord, ...options }: FoldOptions = {}) {
    const activity = new RingBuffer<FoldedRecord>(limits.activityRecordsMax)
    super({ of: ({ record }) => upsertedEntity(record) }, start, {
      countsDuplicates: true,
      ...options,
      onRecord(record, effect) {
        if (entersActivity(record)) activity.push(record)
        onRecord?.(record, effect)
      },
    })
    this.#activity = activity
    for (const entity of start.entities ?? [])
      this.load(entity.item_type, entity.item_id, entity, entity.entity_rev)
    for (const revision of start.revisions ?? []) this.loadRevision(revision)
  }

  get activity(): FoldedRecord[] {
    return this.#activity.toArray()
  }
}
