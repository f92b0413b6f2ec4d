import type { Head } from '@kim/manifest'
import type { Draft, Receipt } from '@kim/producer/internal'
import type { NaiveRecord } from './naive-journal.js'

/** What one append was asked to do. Marks are unique numbers, carried in `summary` as `#<mark>`. */
export interface Asked {
  readonly drafts: readonly Draft[]
  readonly marks: readonly number[]
  readonly tx: boolean
  /** Its receipt, if it came: then every mark of it is a promise. */
  receipt: Receipt | undefined
  /** How many of its records stood when that was last certain; undefined while it may still change. */
  survived: number | undefined
  /** Whether it was asked for more than once, so that its records need not stand together. */
  again: boolean
}

/** What a writer was asked and what it promised, to be held against what its journal says. */
export class Promises {
  readonly asked: Asked[] = []
  readonly #broken: string[] = []
  /** The newest record that was shown to somebody, with or without a receipt. */
  visible: Head = { seq: 0, writer: null }
  /** The mark each seq was given to, as receipts told: redaction takes the mark out of the record. */
  readonly seqs: Map<number, number> = new Map()

  ask(drafts: readonly Draft[], tx = false): Asked {
    const marks = drafts.map(draft => markIn(draft.summary) as number)
    const asked: Asked = { drafts, marks, tx, receipt: undefined, survived: undefined, again: false }
    this.asked.push(asked)
    return asked
  }

  /** A receipt came. */
  keep(asked: Asked, receipt: Receipt): void {
    if (asked.receipt !== undefined && !receipt.seqs.every((seq, i) => seq === asked.receipt?.seqs[i])) {
      this.#broken.push(
        `[${asked.marks.join(' ')}] got the receipt ${receipt.seqs}, after ${asked.receipt.seqs}`,
      )
    }
    asked.receipt = receipt
    asked.survived = undefined
    for (const [i, seq] of receipt.seqs.entries()) this.seqs.set(seq, asked.marks[i] as number)
  }

  get acknowledged(): number[] {
    return this.asked.flatMap(asked => (asked.receipt !== undefined ? asked.marks : []))
  }

  /** Somebody was shown the journal up to here. */
  see(head: Head): undefined {
    if (head.seq > this.visible.seq) this.visible = head
  }

  /** The same batch is asked for once more, under its keys. */
  askAgain(asked: Asked): void {
    asked.again = true
    asked.survived = undefined
  }

  /** Remember the number of every mark that stands, whether or not a receipt told it. */
  learn(records: readonly NaiveRecord[]): void {
    for (const record of records) {
      const mark = markIn(record.summary)
      if (mark !== undefined) this.seqs.set(record.seq, mark)
    }
  }

  /** What stands now is the fate of whatever was not acknowledged. */
  settle(records: readonly NaiveRecord[]): void {
    this.learn(records)
    const standing = new Set(records.map(record => this.markOf(record)))
    for (const asked of this.asked) {
      if (asked.receipt === undefined) asked.survived = asked.marks.filter(mark => standing.has(mark)).length
    }
  }

  /** The mark of a record, also when a redaction took it out. */
  markOf(record: NaiveRecord): number | undefined {
    return markIn(record.summary) ?? (record.summary === 'redacted' ? this.seqs.get(record.seq) : undefined)
  }

  /** The same history, to go on apart from this one. */
  clone(): Promises {
    const copy = new Promises()
    for (const asked of this.asked) copy.asked.push({ ...asked })
    copy.visible = this.visible
    copy.#broken.push(...this.#broken)
    for (const [seq, mark] of this.seqs) copy.seqs.set(seq, mark)
    return copy
  }

  /**
   * What is wrong with a journal: a visible record gone, an acknowledged mark missing, any mark twice, marks nobody asked for, an
   * unacknowledged batch that survived otherwise than as a prefix although no number is missing before what stands
   * behind the lost part (a transaction: otherwise than whole),
   * or records of one batch out of their order.
   */
  violations(records: readonly NaiveRecord[]): string[] {
    const out = [...this.#broken]
    const places = new Map<number, number>()
    for (const [place, record] of records.entries()) {
      const mark = this.markOf(record)
      if (mark === undefined) continue
      if (places.has(mark)) out.push(`#${mark} stands twice`)
      places.set(mark, place)
    }
    const { seq, writer } = this.visible
    if (seq > 0 && !records.some(record => record.seq === seq && record.writer === writer)) {
      out.push(`record ${seq} of ${writer} was visible and is lost`)
    }
    const known = new Set(this.asked.flatMap(asked => asked.marks))
    for (const mark of places.keys()) if (!known.has(mark)) out.push(`#${mark} was never asked for`)
    let behind = -1
    for (const asked of this.asked) {
      const there = asked.marks.map(mark => places.get(mark))
      const survivors = there.filter(place => place !== undefined)
      if (asked.receipt !== undefined && survivors.length < asked.marks.length) {
        const lost = asked.marks.filter(mark => !places.has(mark))
        out.push(`acknowledged and lost: ${lost.map(mark => `#${mark}`).join(' ')}`)
      }
      const isBehindGap = (place: number): boolean =>
        (records[place]?.seq ?? 0) > (records[place - 1]?.seq ?? 0) + 1
      if (
        there.some(
          (place, i) => place !== undefined && i > 0 && there[i - 1] === undefined && !isBehindGap(place),
        )
      ) {
        out.push(
          `no prefix of [${asked.marks.join(' ')}]: ${there.map(p => (p === undefined ? '-' : '+')).join('')}`,
        )
      }
      if (asked.tx && survivors.length > 0 && survivors.length < asked.marks.length) {
        out.push(`half a transaction: ${survivors.length} of [${asked.marks.join(' ')}]`)
      }
      // What the disk lost from the middle, and was asked for again, comes behind the rest.
      const isMended = asked.again && survivors.some(isBehindGap)
      if (!isMended && survivors.some((place, i) => i > 0 && place <= (survivors[i - 1] as number))) {
        out.push(`out of order: [${asked.marks.join(' ')}]`)
      }
      if (asked.survived !== undefined && asked.survived !== survivors.length) {
        out.push(`[${asked.marks.join(' ')}] had ${asked.survived} records standing, now ${survivors.length}`)
      }
      if (asked.again) continue
      const [first] = survivors
      if (first !== undefined && first < behind)
        out.push(`[${asked.marks.join(' ')}] stands before an older batch`)
      behind = Math.max(behind, survivors.at(-1) ?? behind)
    }
    return out
  }
}

/** The mark in a summary, if there is one. */
export function markIn(summary: string): number | undefined {
  const found = /^#(\d+)$/.exec(summary)
  return found?.[1] === undefined ? undefined : Number(found[1])
}
