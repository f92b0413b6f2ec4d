/** The life of one message, step by step, and the alerts of its persona. */
import type { ReadRecord, SeqRange } from '@kim/manifest'
import { type ClockSpan, spanBetween } from './host-clocks.js'
import { timestampMs } from './timestamp.js'

/** What can happen to a message, or to any other entity. */
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
  /** The record that shows it; null if it was before any. */
  readonly seq: number | null
  readonly ts: string | null
  /** Whose clock `ts` is of. */
  readonly clock: 'server' | 'host'
  /** Since the step before. */
  readonly since: ({ readonly step: LifeStepKind; readonly two_clocks: boolean } & ClockSpan) | null
  readonly note: string | null
}

const NO_SPAN: ClockSpan = {
  wall_ms: null,
  mono_ms: null,
  boot_ms: null,
  suspended_ms: null,
  rebooted: false,
}
const STEPS_MAX = 1000

/** Gathers the steps from the records of one entity, in file order. */
export class Life {
  readonly steps: LifeStep[] = []
  /** What no record tells. */
  readonly unknown: string[] = []
  /** The record that first made it, if it is among those that can be read. */
  appended: ReadRecord | undefined
  /** The newest record of it. */
  last: ReadRecord | undefined
  #first: number | undefined
  #isRead = false

  /** From its first record that can be read to its newest one; null if there is none. */
  get span(): SeqRange | null {
    return this.#first === undefined ? null : { from: this.#first, to: this.last?.seq ?? this.#first }
  }

  take(record: ReadRecord): void {
    this.#first ??= record.seq
    if (this.last === undefined) this.#begin(record)
    else this.#next(record, this.last)
    this.last = record
  }

  #begin(record: ReadRecord, isRevived = false): void {
    const isMessage = record.item_type === 'message'
    const createdMs = isMessage ? this.#created(record) : Number.NaN
    if (!isRevived && !isFirst(record)) {
      this.#beginLate(record)
      return
    }
    this.appended ??= record
    const { seq, ts = null, clock, action, payload } = record
    const wait = clock?.wait_ms
    const appendedMs = timestampMs(ts)
    let since: LifeStep['since'] = null
    if (!Number.isNaN(createdMs))
      since = { ...NO_SPAN, step: 'created_upstream', two_clocks: true, wall_ms: appendedMs - createdMs }
    if (wait === undefined || Number.isNaN(appendedMs)) {
      this.unknown.push('polled: the record does not state how long it waited to be written')
    } else {
      const polledMs = appendedMs - wait
      this.#add('polled', null, new Date(polledMs).toISOString(), {
        since: since && { ...since, wall_ms: polledMs - createdMs },
        note: "when the server's whole answer with the message had arrived",
      })
      since = { ...NO_SPAN, step: 'polled', two_clocks: false, wall_ms: wait, mono_ms: wait }
    }
    const note =
      action === 'backfill'
        ? 'it existed before the first poll of its inbox, so it was not announced'
        : announced(record)
    this.#add('appended', seq, ts, { since, note })
    this.#isRead = payload?.['read'] === true
    if (isMessage && this.#isRead) this.unknown.push('read: it was already read when it was first recorded')
  }

  /** The record that made it is lost: its life begins with a later one. */
  #beginLate(record: ReadRecord): void {
    this.unknown.push('polled, appended: its first record is missing or cannot be read')
    this.#isRead = record.payload?.['read'] === true
    const kind = this.#kindOf(record)
    const note = `its first record that can be read${this.#isRead ? '; it was already read' : ''}`
    this.#add(kind, record.seq, record.ts ?? null, { note })
  }

  /** When it was created by the server's clock; NaN if the server sent no valid time. */
  #created({ payload, payload_ref }: ReadRecord): number {
    const created = payload?.['created']
    const ms = timestampMs(created)
    if (Number.isNaN(ms)) {
      const isLost = payload === undefined && payload_ref !== undefined
      this.unknown.push(
        isLost ? 'created: its blob is missing or damaged' : 'created: the server sent no valid time',
      )
    } else this.#add('created_upstream', null, String(created), { clock: 'server' })
    return ms
  }

  #next(record: ReadRecord, before: ReadRecord): void {
    if (this.steps.length >= STEPS_MAX) return
    const { seq, ts = null, action } = record
    if (before.action === 'delete' && action !== 'delete') {
      this.unknown.push(`delay of its second arrival (seq ${seq}): only the first arrival is explained`)
      this.#begin(record, true)
      return
    }
    const kind = this.#kindOf(record)
    const step = this.steps.at(-1)?.kind ?? 'appended'
    const since = { ...spanBetween(before, record), step, two_clocks: false }
    this.#add(kind, seq, ts, { since, note: action === 'update' ? null : action })
  }

  #add(
    kind: LifeStepKind,
    seq: number | null,
    ts: string | null,
    { clock = 'host', since = null, note = null }: Partial<LifeStep>,
  ): void {
    this.steps.push({ kind, seq, ts, clock, since, note })
  }

  #kindOf({ action, summary, payload }: ReadRecord): LifeStepKind {
    if (action === 'delete') return summary === 'archived' ? 'archived' : 'removed'
    if (payload?.['redacted'] === true) return 'redacted'
    if (payload?.['read'] !== true || this.#isRead) return 'changed'
    this.#isRead = true
    return 'read_upstream'
  }
}

/** Whether a record can be the one that made an entity. */
function isFirst({ action, entity_rev }: ReadRecord): boolean {
  if (action === 'create' || action === 'backfill') return true
  return action !== 'delete' && (entity_rev === undefined || entity_rev <= 1)
}

function announced({ event }: ReadRecord): string | null {
  return event === undefined ? 'without an event, so it was not announced' : `announced as ${event}`
}

/** One alert, from when it was raised to when it was cleared. */
export interface Alarm {
  readonly kind: string
  readonly reason: string | null
  readonly from_seq: number
  readonly from_ts: string | null
  /** Null while it is open. */
  readonly to_seq: number | null
  readonly to_ts: string | null
}

const ALARMS_MAX = 10_000

/** Follows the alert records of one persona. */
export class Alarms {
  readonly #persona: string
  readonly #past: Alarm[] = []
  readonly #open = new Map<string, Alarm>()

  constructor(persona: string) {
    this.#persona = persona
  }

  take({ item_type, item_id = '', action, agent, seq, ts, payload }: ReadRecord): void {
    if (item_type !== 'alert') return
    const prefix = `${this.#persona}/`
    const owner = payload?.['persona'] ?? (item_id.startsWith(prefix) ? this.#persona : agent)
    if (owner !== this.#persona) return
    const open = this.#open.get(item_id)
    const isOpen = action !== 'delete' && payload?.['status'] === 'open'
    if (isOpen && open === undefined) {
      const { kind, reason } = payload
      this.#open.set(item_id, {
        kind: typeof kind === 'string' ? kind : item_id.slice(prefix.length),
        reason: typeof reason === 'string' ? reason : null,
        from_seq: seq,
        from_ts: ts ?? null,
        to_seq: null,
        to_ts: null,
      })
    } else if (!isOpen && open !== undefined) {
      this.#open.delete(item_id)
      if (this.#past.length < ALARMS_MAX) this.#past.push({ ...open, to_seq: seq, to_ts: ts ?? null })
    }
  }

  /**
   * Those that were open at some time between two, or while an entity had its records: if the wall clock was set back, the
   * times do not show that, but the order of the records does.
   */
  within(sinceMs: number, untilMs: number, records: SeqRange | null): Alarm[] {
    return [...this.#past, ...this.#open.values()]
      .filter(({ from_seq, from_ts, to_seq, to_ts }) => {
        if (records !== null && from_seq > records.to) return false
        if (records !== null && (to_seq ?? Number.POSITIVE_INFINITY) >= records.from) return true
        const to = to_ts === null ? Number.POSITIVE_INFINITY : timestampMs(to_ts)
        return !(timestampMs(from_ts) > untilMs) && !(to < sinceMs)
      })
      .sort((a, b) => a.from_seq - b.from_seq)
  }
}
