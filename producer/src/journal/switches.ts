/**
 * Each of these leaves one safeguard out, so that a proof can show that it would notice. They exist for the
 * tests of this repository alone: no flag and no environment variable reaches them.
 */
export interface Switches {
  /** Nothing is ever made durable. */
  readonly skipFsync?: boolean
  /** State moves and the receipt is made before the sync. */
  readonly receiptBeforeSync?: boolean
  /** New names are not made durable. */
  readonly skipDirectorySync?: boolean
  /** The length of the segment is not compared before a commit. */
  readonly skipLengthCheck?: boolean
  /** A repeated key is appended again. */
  readonly skipKeyLookup?: boolean
  /** Inboxes that may have lost mail to a power loss are not pinned. */
  readonly skipLossPins?: boolean
}
