/** The alarms of one persona, each from when it was raised to when it was cleared. */
import type { ReadRecord, SeqRange } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'

/** One alarm. */
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
      const [kind, reason] = [payload['kind'], payload['reason']]
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
   * Those that were open at some time between two, or while something had its records: where the wall clock was set
   * back the times tell nothing of that, and the order of the records does.
   */
  within(sinceMs: number, untilMs: number, records: SeqRange | null): Alarm[] {
    return [...this.#past, ...this.#open.values()]
      .filter(({ from_seq, from_ts, to_seq, to_ts }) => {
        if (records !== null && from_seq > records.to) return false
        if (records !== null && (to_seq ?? Number.POSITIVE_INFINITY) >= records.from) return true
        const [from, to] = [
          timestampMs(from_ts),
          to_ts === null ? Number.POSITIVE_INFINITY : timestampMs(to_ts),
        ]
        return !(from > untilMs) && !(to < sinceMs)
      })
      .sort((a, b) => a.from_seq - b.from_seq)
  }
}
