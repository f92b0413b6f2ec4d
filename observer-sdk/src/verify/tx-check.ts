import { isSeq, type JsonObject } from '@kim/manifest'
import { AwaitedFindings, type FindingLog } from './findings.js'
import type { LinePlace, RecordEntry } from './walk.js'

/** What stands of a run whose beginning is lost. */
interface Stray {
  readonly id: string
  readonly n: number
  readonly place: LinePlace
  readonly last: number
  readonly records: number
}

/** Completeness of runs: one that never became complete is named by a `tx_abandoned` note. */
export class TxCheck {
  readonly #log: FindingLog
  readonly #incomplete: AwaitedFindings
  #stray: Stray | undefined

  constructor(log: FindingLog) {
    this.#log = log
    this.#incomplete = new AwaitedFindings(log, 'tx_incomplete')
  }

  /** Records with a `tx` that never have an effect, in file order; they may be of several runs. */
  dropped(entries: readonly RecordEntry[]): void {
    for (const run of runsOf(entries)) {
      const stray = strayOf(run)
      if (stray !== undefined && this.#stray !== undefined && isRest(this.#stray, stray)) {
        this.#stray = { ...this.#stray, last: stray.last, records: this.#stray.records + stray.records }
        continue
      }
      this.#await()
      if (stray !== undefined) this.#stray = stray
      else {
        const { place, detail } = summaryOf(run)
        this.#incomplete.hold(keyOfRun(run), place, detail)
      }
    }
  }

  /** What stands of a run without its beginning is one finding, once nothing more of it can come. */
  #await(): void {
    const stray = this.#stray
    if (stray === undefined) return
    this.#stray = undefined
    const { id, n, records, place, last } = stray
    const key = keyOf(id, place.segment, place.seq ?? 0, last)
    this.#incomplete.hold(key, place, `${records} of ${n} records of ${id}`)
  }

  /** A note that a run was abandoned. */
  abandoned(note: JsonObject): void {
    const { tx_id: id, segment, first_seq: first, last_seq: last } = note
    this.#await()
    if (typeof id !== 'string' || typeof segment !== 'string' || !isSeq(first) || !isSeq(last)) return
    this.#incomplete.explain(keyOf(id, segment, first, last), 'tx_abandoned')
  }

  /** The newest segment ends inside a run that may still become complete. */
  openTail(entries: readonly RecordEntry[]): void {
    if (entries.length === 0) return
    const { place, detail } = summaryOf(entries)
    this.#log.report('tx_open_tail', place, detail)
  }

  /** Reports every run that no note names. */
  end(): void {
    this.#await()
    this.#incomplete.end()
  }
}

/** Cuts dropped records where one run ends and another, or a stray, begins. */
function runsOf(entries: readonly RecordEntry[]): RecordEntry[][] {
  const runs: RecordEntry[][] = []
  let last: RecordEntry | undefined
  for (const entry of entries) {
    if (last !== undefined && continues(last, entry)) runs.at(-1)?.push(entry)
    else runs.push([entry])
    last = entry
  }
  return runs
}

function continues({ record: before }: RecordEntry, { record }: RecordEntry): boolean {
  const { tx } = record
  if (typeof tx !== 'object' || typeof before.tx !== 'object' || record.writer !== before.writer) return false
  return tx.id === before.tx.id && tx.n === before.tx.n && tx.i === before.tx.i + 1
}

function summaryOf(run: readonly RecordEntry[]): { place: LinePlace; detail: string } {
  const { segment, offset, length, seq, record } = run[0] as RecordEntry
  const { tx } = record
  const detail = typeof tx === 'object' ? `${run.length} of ${tx.n} records of ${tx.id}` : 'a malformed tx'
  return { place: { segment, offset, length, seq }, detail }
}

function strayOf(run: readonly RecordEntry[]): Stray | undefined {
  const first = run[0]
  const tx = first?.record.tx
  if (first === undefined || typeof tx !== 'object' || tx.i === 1) return undefined
  const { segment, offset, length, seq } = first
  const place = { segment, offset, length, seq }
  return { id: tx.id, n: tx.n, place, last: run.at(-1)?.seq ?? seq, records: run.length }
}

const isRest = (one: Stray, next: Stray): boolean =>
  one.id === next.id && one.place.segment === next.place.segment

/** A run that began is named by its own numbers; a malformed `tx` by nothing. */
function keyOfRun(run: readonly RecordEntry[]): string | undefined {
  const first = run[0]
  const last = run.at(-1)
  if (first === undefined || last === undefined || typeof first.record.tx !== 'object') return undefined
  return first.record.tx.i === 1 ? keyOf(first.record.tx.id, first.segment, first.seq, last.seq) : undefined
}

function keyOf(id: string, segment: string, first: number, last: number): string {
  return JSON.stringify([id, segment, first, last])
}
