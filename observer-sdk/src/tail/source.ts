/**
 * The port between where records come from and everything after it. Files are one source; another transport
 * that carries the same records in the same order leaves everything after this page as it is.
 */
import type { AnomalyKind, Head, ReadRecord } from '@kim/manifest'
import type { BytePosition } from './byte-position.js'
import type { DeriveLimits, Snapshot } from './derive.js'
import type { Gap, Ground, Start } from './locate.js'

export type { Gap, Ground, Snapshot, Start }

/** Records that follow one another, and the places they stand between. */
export interface Batch {
  readonly from: BytePosition
  readonly to: BytePosition
  /** The records that apply, in order; those of one transaction never stand in two batches. */
  readonly entries: readonly Entry[]
  /** What was met besides, by anomaly kind. */
  readonly counts: ReadonlyMap<AnomalyKind, number>
  /** The highest of all valid records met, those without effect included; the later one wins. */
  readonly passed: Head | undefined
  /** Seqs of lines without effect that count for continuity, each with the number of entries before it. */
  readonly idle: readonly { readonly seq: number; readonly before: number }[]
  /** True if there may be more at hand already. */
  readonly more: boolean
  /** True if records that stood before `entries` are gone unread. */
  readonly skipped: boolean
  /** Why nothing after `to` can be read: what was read before is no longer what is there. */
  readonly lost?: 'segment_shrunk' | 'segment_replaced' | undefined
}

/** A record and its place. */
export interface Entry {
  readonly record: ReadRecord
  readonly segment: number
  readonly offset: number
}

/** Reads on from a place, at the caller's pace. Holds no file open by itself. */
export interface RecordReader {
  /** Where the next batch begins. */
  readonly position: BytePosition
  /** What is at hand, up to about so many bytes; an empty batch if there is nothing. Never throws. */
  read(bytesMax: number): Batch
  /** Goes on from another place. */
  seek(position: BytePosition): void
}

/** What a source says when something may have changed. */
export interface News {
  /** False if there is no journal there now. */
  readonly exists: boolean
  /** False if it is there and cannot be listed. */
  readonly readable: boolean
  /** How many files are there in a shape in which they cannot be read. */
  readonly failures: number
  /** Why everything must be derived anew, if it must. Of these only healing is no anomaly. */
  readonly lost: 'store_replaced' | 'segment_replaced' | 'segment_healed' | undefined
}

/** Where records come from. */
export interface RecordSource {
  /** Derives what there is; yields now and then, so that a host can breathe. */
  derive(limits?: DeriveLimits): Generator<void, Snapshot>
  /** What a place is looked for on, for those who need no state; as `derive`, it takes what is there for granted. */
  ground(seq: number): Generator<void, { readonly ground: Ground; readonly projectId: string | undefined }>
  /** Finds where a cursor's hand-over begins. */
  locate(cursor: CursorLike, ground: Ground): Generator<void, Start>
  /** A reader that begins at a place. */
  reader(position: BytePosition): RecordReader
  /** The payload that a reference names, as its bytes, or what is wrong with it. */
  blob(ref: { readonly sha256: string; readonly bytes: number }): Uint8Array | 'missing' | 'mismatch'
  /** An id for a journal that states none. */
  fallbackProjectId(): string
  /** Looks once, synchronously. */
  look(): News
  /** Calls `onNews` whenever something may have changed, until closed. */
  watch(onNews: (news: News) => void): { ring(): void; close(): void }
}

/** The part of a cursor that a place is found by. */
export interface CursorLike {
  readonly seq: number
  readonly writer: string | null
}
