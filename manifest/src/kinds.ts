import { anomalies } from './generated/anomalies.js'

export type {
  ActionClass,
  KnownEvent,
  KnownItemType,
  NoteKind,
  Section,
  Verb,
  WakeClass,
} from './generated/action-classes.js'
export type { AnomalyKind } from './generated/anomalies.js'

/** What a record does to a reader's state. */
export type Effect = 'upsert' | 'remove' | 'activity' | 'meta'

/** Every anomaly kind with its severity and meaning, in the order of the manifest. */
export { anomalies }
