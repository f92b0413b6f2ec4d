import { fitsCommit, isJsonObject, type JsonValue, limits } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'

/** What a record's line has besides what the draft brings: names of members, numbers, clocks. */
const FRAME_BYTES = 600
/** An escaped UTF-16 unit takes at most so many bytes. */
const UNIT_BYTES_MAX = 6
/** Up to this length a bound is as good as a measure. */
const SHORT_UNITS = 2000

/** At most so many bytes of a line are taken by a value. */
function bytesOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') {
    if (value.length <= SHORT_UNITS) return value.length * UNIT_BYTES_MAX + 2
    return Buffer.byteLength(JSON.stringify(value))
  }
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item) + 1, 2)
  if (isJsonObject(value)) {
    return Object.entries(value).reduce(
      (sum, [key, item]) => sum + key.length * UNIT_BYTES_MAX + bytesOf(item) + 4,
      2,
    )
  }
  return 24
}

/** A bound for the line that a draft becomes; one whose payload goes into a blob takes little. */
function lineBytesMax({ agent, item_id, summary, payload }: Draft): number {
  const names =
    (agent.length + item_id.length + Math.min(summary.length, 2 * limits.summaryCodePointsMax)) *
    UNIT_BYTES_MAX
  return FRAME_BYTES + names + bytesOf(payload)
}

/** Counts what one commit holds (KS-45). */
export class CommitRoom {
  #records = 0
  #bytes = 0

  /** Takes a draft in if there is room for it; there always is for the first. */
  takes(draft: Draft): boolean {
    const bytes = this.#bytes + lineBytesMax(draft)
    if (this.#records > 0 && !fitsCommit(this.#records + 1, bytes)) return false
    this.#records++
    this.#bytes = bytes
    return true
  }
}
