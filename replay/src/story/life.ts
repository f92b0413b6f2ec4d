/** One message's life, step by step. */
import type { ReadRecord, SeqRange } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'
import { type Span, spanBetween, wallOf } from './clocks.js'

/** What can happen to a message, or to anything else that a record makes. */
export type LifeStepKind =
  | 'created_upstream'
  | 'polled'
  | 'appended'
  | 'changed'
  | 'read_upstream'
  | 'archived'
  | 'removed'
  | 'redacted'

/** One step. */
export interface LifeStep {
  readonly kind: LifeStepKind
  /** The record that shows it; null where it was before any. */
  readonly seq: number | null
  readonly ts: string | null
  /** Whose clock `ts` is of. */
  readonly clock: 'server' | 'host'
  /** Since the step before. */
  readonly since: ({ readonly step: LifeStepKind; readonly two_clocks: boolean } & Span) | null
  readonly note: string | null
}

const NO_SPAN: Span = { wall_ms: null, mono_ms: null, boot_ms: null, suspended_ms: null, rebooted: false }
const STEPS_MAX = 1000

/** Gathers the steps from the records of one entity, in file order. */
export class Life {
  readonly steps: LifeStep[] = []
  /** What nobody recorded. */
  readonly unknown: string[] = []
  #first: number | undefined
  #last: ReadRecord | undefined
  #isRead = false
  #createdMs = Number.NaN
  #appended: ReadRecord | undefined

  /** By the server's clock; NaN if it gave none. */
  get createdMs(): number {
    return this.#createdMs
  }

  /** The record that first made it, if it is among those that can be read. */
  get appended(): ReadRecord | undefined {
    return this.#appended
  }

  /** The newest record of it. */
  get last(): ReadRecord | undefined {
    return this.#last
  }

  /** From its first record that can be read to its newest one; null if there is none. */
  get span(): SeqRange | null {
    return this.#first === undefined ? null : { from: this.#first, to: this.#last?.seq ?? this.#first }
  }

  take(record: ReadRecord): void {
    this.#first ??= record.seq
    if (this.#last === undefined) this.#begin(record)
    else this.#next(record, this.#last)
    this.#last = record
  }

  #begin(record: ReadRecord): void {
    const isMessage = record.item_type === 'message'
    const begun = this.steps.length
    const ts = record.ts ?? null
    const wait = record.clock?.wait_ms
    if (isMessage) this.#created(record)
    if (!isFirst(record)) {
      this.#beginLate(record)
      return
    }
    this.#appended ??= record
    if (wait === undefined || Number.isNaN(wallOf(record))) {
      this.unknown.push('polled: the record does not state how long it waited for its commit')
    } else {
      const polledMs = wallOf(record) - wait
      const since = Number.isNaN(this.#createdMs)
        ? null
        : {
            ...NO_SPAN,
            step: 'created_upstream' as const,
            two_clocks: true,
            wall_ms: polledMs - this.#createdMs,
          }
      const polled = new Date(polledMs).toISOString()
      this.steps.push({
        kind: 'polled',
        seq: null,
        ts: polled,
        clock: 'host',
        since,
        note: 'the answer with the message was complete',
      })
    }
    const before = this.steps.slice(begun).at(-1)
    const since =
      before?.kind === 'polled' && wait !== undefined
        ? { ...NO_SPAN, step: before.kind, two_clocks: false, wall_ms: wait, mono_ms: wait }
        : before === undefined
          ? null
          : { ...NO_SPAN, step: before.kind, two_clocks: true, wall_ms: wallOf(record) - this.#createdMs }
    const note =
      record.action === 'backfill'
        ? 'it existed before the first poll of its inbox, so it was not announced'
        : announced(record)
    this.steps.push({ kind: 'appended', seq: record.seq, ts, clock: 'host', since, note })
    this.#isRead = record.payload?.['read'] === true
    if (isMessage && this.#isRead)
      this.unknown.push('read upstream: it was already read when it was first seen')
  }

  /** The record that made it is lost: what is told begins with a later one. */
  #beginLate(record: ReadRecord): void {
    this.unknown.push('polled, appended: its first record is missing or cannot be read')
    this.#isRead = record.payload?.['read'] === true
    const kind = this.#kindOf(record)
    const note = `its first record that can be read${this.#isRead ? '; it was already read' : ''}`
    this.steps.push({ kind, seq: record.seq, ts: record.ts ?? null, clock: 'host', since: null, note })
  }

  #created({ payload, payload_ref }: ReadRecord): void {
    const created = payload?.['created']
    const ms = timestampMs(created)
    this.#createdMs = ms
    if (Number.isNaN(ms)) {
      const isLost = payload === undefined && payload_ref !== undefined
      this.unknown.push(
        isLost ? 'created: its blob is missing or damaged' : 'created: the server gave no valid time',
      )
      return
    }
    this.steps.push({
      kind: 'created_upstream',
      seq: null,
      ts: String(created),
      clock: 'server',
      since: null,
      note: null,
    })
  }

  #next(record: ReadRecord, before: ReadRecord): void {
    if (this.steps.length >= STEPS_MAX) return
    if (before.action === 'delete' && record.action !== 'delete') {
      this.unknown.push(
        `delay of its second arrival (seq ${record.seq}): only the first arrival is explained`,
      )
      this.#begin(record)
      return
    }
    const kind = this.#kindOf(record)
    const span = spanBetween(before, record)
    const step = this.steps.at(-1)?.kind ?? 'appended'
    const since = { ...span, step, two_clocks: false }
    this.steps.push({
      kind,
      seq: record.seq,
      ts: record.ts ?? null,
      clock: 'host',
      since,
      note: record.action === 'update' ? null : record.action,
    })
  }

  #kindOf({ action, summary, payload }: ReadRecord): LifeStepKind {
    if (action === 'delete') return summary === 'archived' ? 'archived' : 'removed'
    if (payload?.['redacted'] === true) return 'redacted'
    if (payload?.['read'] !== true || this.#isRead) return 'changed'
    this.#isRead = true
    return 'read_upstream'
  }
}

/** Whether a record can be the one that made an item. */
function isFirst({ action, entity_rev }: ReadRecord): boolean {
  if (action === 'create' || action === 'backfill') return true
  return action !== 'delete' && (entity_rev === undefined || entity_rev <= 1)
}

function announced({ event }: ReadRecord): string | null {
  return event === undefined ? 'without an event, so it was not announced' : `announced as ${event}`
}
