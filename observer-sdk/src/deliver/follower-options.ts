import { limits } from '@kim/manifest'
import type { BoardSeed } from '../project/board.js'
import type { Impact } from '../project/impact.js'
import type { RecordSource } from '../tail/source.js'

/** What a follower is told at its making. */
export interface FollowerOptions {
  readonly source: RecordSource
  readonly seed: BoardSeed | undefined
  readonly activityMax: number
  readonly now: () => number
  /** State changed: by the doing of records that were read, or by being derived anew. */
  /** Records were read. Says whether somebody takes them right now, which is not to wait for the state. */
  readonly onBatch: () => boolean
  readonly onChange: (impact: Impact, by: 'records' | 'derivation') => void
  /** A bug of ours: the observer is to close. */
  readonly onBug: (bug: unknown) => void
}

/** How much activity is kept unless the host asks for another number. */
export const ACTIVITY_MAX: number = limits.activityRecordsMax
