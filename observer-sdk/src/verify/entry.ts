import type { Effect, MalformedReason, ReadRecord } from '@kim/manifest'
import type { FindingLocation } from './findings.js'

/** A line of a segment. */
export interface LinePlace extends FindingLocation {
  readonly segment: string
  readonly offset: number
  /** Bytes without the `\n`. */
  readonly length: number
}

/** A valid record whose fate is decided. */
export interface RecordEntry extends LinePlace {
  readonly seq: number
  readonly record: ReadRecord
  readonly effect: Effect
}

/** A terminated line that is no record of any version. */
export interface MalformedEntry extends LinePlace {
  readonly reason: MalformedReason
  /** Absent if the line is too long to be held. */
  readonly bytes: Uint8Array | undefined
}
