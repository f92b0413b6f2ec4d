/** Append to a journal of your own. One process at a time writes a store; any number of others read it. */
export {
  type Actor,
  type ErrorCode,
  type Head,
  type JsonObject,
  KimError,
  type PayloadRef,
  type SeqRange,
} from '@kim/manifest'
export type { AppendOptions, Draft, Receipt } from './journal/draft.js'
export type { EntityOutline, StoredEntity, StoredState } from './journal/entity-reader.js'
export { type Journal, openJournal, retryDelayMs } from './journal/journal.js'
export type { OpenHistory } from './journal/open.js'
export type { GcReport } from './journal/roll.js'
export type { Log, LogEntry, OpenJournalOptions } from './journal/store.js'
