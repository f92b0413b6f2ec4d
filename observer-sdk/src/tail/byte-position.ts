/**
 * A place between two lines. Only a hint that lives in memory: a cursor names a seq and a writer, and is
 * turned into a place by looking.
 */
export interface BytePosition {
  /** Number of the segment; 0 stands before every segment. */
  readonly segment: number
  readonly offset: number
  /** The highest seq of the lines before it in its segment. */
  readonly peak: number
}

/** Before everything there is. */
export const ORIGIN: BytePosition = { segment: 0, offset: 0, peak: 0 }

/** Whether one place stands before another. */
export function isBefore(a: BytePosition, b: BytePosition): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

/** Whether two positions are one place. */
export function isSamePlace(a: BytePosition, b: BytePosition): boolean {
  return a.segment === b.segment && a.offset === b.offset
}
