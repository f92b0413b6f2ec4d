/** Follow a journal without touching it. Everything a host needs; nothing here can write below the store. */
export {
  type AnomalyKind,
  type Cursor,
  type ErrorCode,
  type JsonObject,
  KimError,
  type ReadRecord,
  safeJson,
  safeText,
} from '@kim/manifest'
export { type ColdStart, type ColdStartDamage, coldStart } from './cold-digest.js'
export {
  type CursorStore,
  fileCursors,
  type MementoLike,
  mementoCursors,
  memoryCursors,
} from './cursors/cursor-stores.js'
export type { Change, StartAfter } from './deliver/consumer-reader.js'
export { type Observer, type ObserverOptions, openObserver } from './observer.js'
export type { Board, BoardCount, BoardSeed, SectionSummary } from './project/board.js'
export { type Impact, sectionsOfType as sectionsOf } from './project/impact.js'
export { type Evidence, isMail, type MailRecord, type PersonaView } from './project/persona.js'
export type { EntityView, StateView } from './project/state.js'
export {
  type ObserverStatus,
  openTail,
  type RecordTail,
  storeOfUser as defaultStore,
  type TailOptions,
} from './record-tail.js'
export type { ReadFailure, ReadResult } from './store/read-only-fs.js'
export type { JournalLine } from './tail/journal-reader.js'
export type { Gap } from './tail/locate.js'
