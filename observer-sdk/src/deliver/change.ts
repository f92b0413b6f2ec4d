import type { Cursor, ReadRecord } from '@kim/manifest'
import type { Impact } from '../project/impact.js'
import type { Gap } from '../tail/source.js'

/** What a consumer is handed at a time. */
export interface Change extends Impact {
  /** The records, in file order. Empty when state changed without one. */
  readonly records: readonly ReadRecord[]
  /** Those of the records that announce something. */
  readonly news: readonly ReadRecord[]
  /** What was to come before these records and is gone. */
  readonly gap: Gap | undefined
  /** Where the consumer stands once it asks for the next change; it is saved then, not before. */
  readonly cursor: Cursor
}
