/** Which line holds each entity's newest image: the newest segment to name it wins, and in it the last line. */
import { Buffer } from 'node:buffer'
import {
  EntityLineMatcher,
  entityKeyOf,
  type LineFrame,
  OldEntityTable,
  type ReadRecord,
} from '@kim/manifest'
import { Base, type Piece } from './base.js'
import { type CheckpointDocument, entityLines } from './checkpoint-document.js'

/** Stands for the window being scanned, until its lines get memory of their own. */
const WINDOW = 0x7fffffff
const NOWHERE = 0x7ffffffe
const UNCLAIMED = 0

/** Claims of segments that come newest first, each front to back. */
export class ImageClaims {
  readonly #table = new OldEntityTable()
  readonly #pieces: Piece[] = []
  readonly #records: ReadRecord[] = []
  readonly #matcher = new EntityLineMatcher()
  #scan = UNCLAIMED
  #segment = 0
  /** Slots this segment claimed first, and slots whose line stands in the present window. */
  #claimed: number[] = []
  #inWindow: number[] = []

  /** Begins a segment, which stands before all segments begun so far. */
  begin(segment: number): void {
    this.#segment = segment
    this.#scan += 1
    this.#claimed = []
    this.#inWindow = []
  }

  /** An unread line is the newest image of its entity so far, or says that the entity is gone. */
  line(frame: LineFrame, live: boolean): void {
    const table = this.#table
    const { from, to } = frame
    const slot = table.take(frame.bytes, frame.keyStart, frame.typeStart, frame.keyEnd, frame.hash)
    if (!this.#claims(slot)) return
    if (table.piece[slot] !== WINDOW) this.#inWindow.push(slot)
    table.piece[slot] = WINDOW
    table.offset[slot] = from
    table.length[slot] = to - from
    table.payloadOffset[slot] = frame.payloadStart - from
    table.payloadLength[slot] = frame.hasPayload ? frame.payloadEnd - frame.payloadStart : 0
    table.revision[slot] = frame.revision
    table.live[slot] = live ? 1 : 0
  }

  /** As `line`, for a record that has been decoded. */
  record(record: ReadRecord, live: boolean): void {
    const table = this.#table
    const key = entityKeyOf(record.item_type, record.item_id as string)
    const slot = table.take(key.bytes, 0, key.typeStart, key.bytes.length, key.hash)
    if (!this.#claims(slot)) return
    table.piece[slot] = live ? -this.#records.push(record) : NOWHERE
    table.payloadLength[slot] = 0
    table.revision[slot] = record.entity_rev ?? -1
    table.live[slot] = live ? 1 : 0
  }

  /** Takes back what this segment claimed. */
  forget(): void {
    for (const slot of this.#claimed) {
      this.#table.claim[slot] = UNCLAIMED
      this.#table.piece[slot] = NOWHERE
      this.#table.live[slot] = 0
    }
    this.#claimed = []
    this.#inWindow = []
  }

  /** The window is all told. Its claimed lines get memory of their own, or are so many that the window is kept: true. */
  settle(window: Buffer): boolean {
    const table = this.#table
    const slots: number[] = []
    let bytes = 0
    for (const slot of this.#inWindow) {
      if (table.piece[slot] !== WINDOW) continue
      table.piece[slot] = NOWHERE
      if (table.live[slot] === 0) continue
      slots.push(slot)
      bytes += table.length[slot] as number
    }
    this.#inWindow = []
    if (bytes === 0) return false
    const keeps = bytes * 2 > window.length
    const gathered = keeps ? window : Buffer.allocUnsafeSlow(bytes)
    const piece = this.#pieces.push({ kind: 'journal', bytes: gathered, origin: this.#segment }) - 1
    let at = 0
    for (const slot of slots) {
      table.piece[slot] = piece
      if (keeps) continue
      const from = table.offset[slot] as number
      const length = table.length[slot] as number
      window.copy(gathered, at, from, from + length)
      table.offset[slot] = at
      at += length
    }
    return keeps
  }

  /** Takes from a checkpoint what no line after it has changed; false if a line of it is no entity. */
  adopt(document: CheckpointDocument): boolean {
    this.#scan += 1
    const table = this.#table
    const matcher = this.#matcher
    const piece = this.#pieces.length
    this.#pieces.push({ kind: 'checkpoint', bytes: document.bytes, origin: document.header.head_seq })
    for (const { from, to } of entityLines(document)) {
      if (!matcher.match(document.bytes, from, to)) return false
      const slot = table.take(
        matcher.bytes,
        matcher.idStart,
        matcher.typeStart,
        matcher.typeEnd,
        matcher.hash,
      )
      if (!this.#claims(slot)) continue
      table.piece[slot] = piece
      table.offset[slot] = from
      table.length[slot] = to - from
      table.payloadLength[slot] = 0
      table.revision[slot] = matcher.revision
      table.live[slot] = 1
    }
    return true
  }

  /** What was claimed. */
  finish(): Base {
    return new Base(this.#table, this.#pieces, this.#records)
  }

  #claims(slot: number): boolean {
    const { claim } = this.#table
    if (claim[slot] === this.#scan) return true
    if (claim[slot] !== UNCLAIMED) return false
    claim[slot] = this.#scan
    this.#claimed.push(slot)
    return true
  }
}
