import { invariant } from './errors.js'
import { limitValues } from './generated/limits.js'

/** Every bound, by name. */
export type Limits = { readonly [Name in keyof typeof limitValues]: number }

/** Every bound, from `limits.json`. */
export const limits: Limits = Object.freeze({ ...limitValues })

/** Throws unless the bounds fit each other; ours are checked once, here, as they load. */
export function assertLimits(l: Limits): void {
  invariant(l.payloadInlineBytesMax < l.lineWrittenBytesMax, 'an inline payload fits a line')
  invariant(l.summaryCodePointsMax * 12 < l.lineWrittenBytesMax, 'an escaped summary fits a line')
  invariant(l.personaNameBytesMax * 24 < l.lineWrittenBytesMax, 'a name fits a line four times, escaped')
  invariant(l.lineWrittenBytesMax <= l.lineReadBytesMax, 'a reader takes whatever our writer writes')
  invariant(l.lineWrittenBytesMax < l.commitBytesMax, 'a commit holds the longest line')
  invariant(l.commitBytesMax <= l.segmentBytesMax, 'a segment holds the largest commit')
  invariant(l.txRecordsMax <= l.commitRecordsMax, 'a transaction fits a commit')
  invariant(l.commitRecordsMax <= l.metaAheadRecordsMax, 'meta.json may be a commit ahead')
  invariant(l.seqWarnRatio > 0 && l.seqWarnRatio < 1, 'the warning comes before the end')
  invariant(l.metaAheadRecordsMax < l.seqMax * (1 - l.seqWarnRatio), 'a repair cannot jump past the warning')
}

assertLimits(limits)

/** The first code points of a text, as many as a summary may have. */
export function clipSummary(text: string): string {
  if (text.length <= limits.summaryCodePointsMax) return text
  let end = 0
  for (let n = 0; n < limits.summaryCodePointsMax && end < text.length; n++) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/** True if a payload of so many RFC 8785 bytes must be in a blob. */
export function belongsInBlob(payloadBytes: number): boolean {
  return payloadBytes > limits.payloadInlineBytesMax
}

/** True if a commit may hold so many records of so many bytes in all. */
export function fitsCommit(records: number, bytes: number): boolean {
  return records <= limits.commitRecordsMax && bytes <= limits.commitBytesMax
}

/** True if a segment that has come to so many bytes is rolled. */
export function isSegmentFull(bytes: number, segmentBytes: number = limits.segmentBytesMax): boolean {
  return bytes >= segmentBytes
}

/** What is left of the numbers: plenty, few enough to warn about, or none for this seq. */
export function seqRoom(seq: number): 'plenty' | 'few' | 'none' {
  if (seq > limits.seqMax) return 'none'
  return seq >= limits.seqMax * limits.seqWarnRatio ? 'few' : 'plenty'
}

/** True if an idempotency key of that age may be forgotten. */
export function isKeyForgettable(ageMs: number): boolean {
  return ageMs > limits.keyRetentionDaysMin * 86_400_000
}
