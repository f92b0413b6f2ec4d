import { eventIdOf, type JsonObject, type ReadRecord } from '@kim/manifest'

/** What the lines alone do not say: who owns the journal, and payloads that stand in blobs. */
export interface JournalFacts {
  readonly projectId: () => string
  /** The payload, read from its blob if it stands in one; undefined when there is none or it is unavailable. */
  readonly payloadOf: (record: ReadRecord) => JsonObject | undefined
}

/** The id under which a record is known outside the journal. */
export function idOf(record: ReadRecord, facts: JournalFacts): string {
  // A message's id does not hold the project, and finding the project costs a look into the store.
  return eventIdOf(record.event === 'new' ? '' : facts.projectId(), record)
}
