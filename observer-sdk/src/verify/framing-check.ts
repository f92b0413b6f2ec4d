import { isCount, type JsonObject, sha256Hex, type UnterminatedLine } from '@kim/manifest'
import type { LinePlace, MalformedEntry } from './entry.js'
import type { FindingLog } from './findings.js'

/** Damaged lines kept to be explained by a later note; beyond them a journal is simply damaged. */
const awaitingMax = 100_000

interface Awaiting {
  readonly place: LinePlace
  readonly detail: string
}

/** Framing: every terminated line is a record, or a note says what it was. */
export class FramingCheck {
  readonly #log: FindingLog
  readonly #awaiting = new Map<string, Awaiting[]>()
  #awaitingCount = 0

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A terminated line that is no record. */
  malformed(entry: MalformedEntry): void {
    const { segment, offset, length, reason, bytes } = entry
    const place = { segment, offset, length }
    const detail = `${reason}, ${length} bytes`
    if (this.#awaitingCount >= awaitingMax) {
      this.#log.report('malformed_line', place, detail)
      return
    }
    const key = lineKey(segment, length, bytes === undefined ? offset : sha256Hex(bytes))
    const alike = this.#awaiting.get(key)
    if (alike === undefined) this.#awaiting.set(key, [{ place, detail }])
    else alike.push({ place, detail })
    this.#awaitingCount += 1
  }

  /** A line of a later version. */
  future(place: LinePlace): void {
    this.#log.report('future', place, 'a line of a later version')
  }

  /**
   * A note that a torn line was ended. It explains a line of that segment with that length and digest; where
   * the line stands may have changed since, because a redaction of other lines moves it. A line too long to be
   * held has no digest here and is known by its place.
   */
  adjudicated(note: JsonObject): void {
    const { segment, from, to, sha256 } = note
    if (typeof segment !== 'string' || typeof sha256 !== 'string' || !isCount(from) || !isCount(to)) return
    const line =
      this.#take(lineKey(segment, to - from, sha256)) ?? this.#take(lineKey(segment, to - from, from))
    if (line === undefined) return
    this.#awaitingCount -= 1
    this.#log.report('adjudicated', line.place, line.detail)
  }

  /** What stands after the last `\n` of a segment. */
  tail(segment: string, isNewest: boolean, pending: UnterminatedLine): void {
    if (pending.length === 0) return
    const place = { segment, offset: pending.offset }
    const detail = `${pending.length} bytes without an end`
    // Nobody will ever end the last line of a segment that has a successor.
    this.#log.report(isNewest ? 'unterminated_tail' : 'malformed_line', place, detail)
  }

  /** Reports every damaged line that no note explained. */
  end(): void {
    for (const lines of this.#awaiting.values()) {
      for (const { place, detail } of lines) this.#log.report('malformed_line', place, detail)
    }
    this.#awaiting.clear()
  }

  #take(key: string): Awaiting | undefined {
    return this.#awaiting.get(key)?.shift()
  }
}

function lineKey(segment: string, length: number, mark: string | number): string {
  return `${segment} ${length} ${mark}`
}
