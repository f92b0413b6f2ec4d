import type { JsonObject } from '@kim/manifest'
import type { NaiveRecord } from './naive-journal.js'

/** Numbers of which no record has an effect, both ends included. */
interface Gap {
  readonly from: number
  readonly to: number
}

/** A gap behind which an inbox has records, and how far the inbox had come before it. */
interface Suspect {
  readonly gap: Gap
  readonly cursorAt: number
}

interface Inbox {
  highest: number
  pinnedAt: number | undefined
  gapsSeen: number
  suspects: Suspect[]
}

/** A pin that an open set, and what it had to be set for. */
interface Claim {
  readonly record: NaiveRecord
  readonly suspects: readonly Suspect[]
  readonly pinnedAt: number | undefined
}

const pinSuffix = '/bounded-window'

/** True for a pin that a producer's open set itself: nothing above it was walked. */
export function isPinOfAnOpen({ item_type, item_id, raw }: NaiveRecord): boolean {
  const payload = raw['payload'] as JsonObject | undefined
  const walk = payload?.['walk'] as JsonObject | undefined
  return (
    item_type === 'alert' &&
    item_id.endsWith(pinSuffix) &&
    payload?.['status'] === 'open' &&
    walk?.['proven_down_to'] === Number.MAX_SAFE_INTEGER
  )
}

/** What the records of one commit have in common. */
export function commitOf({ writer, raw }: NaiveRecord): string {
  return `${writer} ${String(raw['ts'])} ${String((raw['clock'] as JsonObject | undefined)?.['mono_ms'])}`
}

/**
 * Which inboxes must be pinned after the disk lost the middle of a commit, by the words of RC-7: it reads records in
 * file order and shares nothing with the code that sets the pins.
 */
export class LossWitness {
  readonly #inboxes: Map<string, Inbox> = new Map()
  readonly #gaps: Gap[] = []
  /** Numbers whose lines are there and have no effect. */
  readonly #abandoned: Set<number> = new Set()
  /** Gaps that a note has named: what comes later was derived with the pins in place. */
  readonly #named: Set<Gap> = new Set()
  #claims: Claim[] = []
  #last = 0

  see(record: NaiveRecord): void {
    if (record.seq > this.#last + 1) this.#gaps.push({ from: this.#last + 1, to: record.seq - 1 })
    this.#last = Math.max(this.#last, record.seq)
    const payload = (record.raw['payload'] ?? {}) as JsonObject
    if (payload['kind'] === 'tx_abandoned') {
      for (let seq = Number(payload['first_seq']); seq <= Number(payload['last_seq']); seq++)
        this.#abandoned.add(seq)
    }
    if (record.action === 'seq_repair') {
      for (const gap of this.#gaps) {
        // Of a gap, lines without an effect may hold the other numbers.
        if (gap.from <= Number(payload['to']) && gap.to >= Number(payload['from'])) this.#named.add(gap)
      }
    }
    const { item_type: type, item_id: id } = record
    if (type === 'message') {
      const cut = id.lastIndexOf('/')
      this.#moved(id.slice(0, cut), record, { highest: Number(id.slice(cut + 1)) })
    } else if (type === 'persona') this.#moved(id, record, { highest: Number(payload['cursor'] ?? 0) })
    else if (type === 'alert' && id.endsWith(pinSuffix)) {
      const pinnedAt = payload['status'] === 'open' ? Number(payload['cursor_at']) : undefined
      this.#moved(id.slice(0, -pinSuffix.length), record, { pinnedAt })
    }
  }

  #moved(
    name: string,
    record: NaiveRecord,
    change: { readonly highest?: number; readonly pinnedAt?: number | undefined },
  ): void {
    const inbox = this.#inboxes.get(name) ?? { highest: 0, pinnedAt: undefined, gapsSeen: 0, suspects: [] }
    this.#inboxes.set(name, inbox)
    const cursorAt = Math.min(inbox.highest, inbox.pinnedAt ?? inbox.highest)
    if (isPinOfAnOpen(record)) {
      this.#claims.push({ record, suspects: inbox.suspects, pinnedAt: inbox.pinnedAt })
      inbox.suspects = []
    } else {
      const behind = this.#gaps.slice(inbox.gapsSeen).filter(gap => !this.#named.has(gap))
      inbox.suspects.push(...behind.map(gap => ({ gap, cursorAt })))
    }
    inbox.gapsSeen = this.#gaps.length
    inbox.highest = Math.max(inbox.highest, change.highest ?? 0)
    if ('pinnedAt' in change) inbox.pinnedAt = change.pinnedAt
  }

  /** What is wrong once an open has done all that it owed: an inbox that is not pinned where it must be, or one that is for nothing. */
  objections(): string[] {
    const out: string[] = []
    for (const { record, suspects, pinnedAt } of this.#claims) {
      const { seq, item_id, raw } = record
      const lost = suspects.filter(({ gap }) => this.#isLost(gap))
      const at = Math.min(...lost.map(({ cursorAt }) => cursorAt), pinnedAt ?? Number.POSITIVE_INFINITY)
      const said = (raw['payload'] as JsonObject)['cursor_at']
      if (lost.length === 0) out.push(`${seq} pins ${item_id}, which lost nothing`)
      else if (said !== at) out.push(`${seq} pins ${item_id} at ${String(said)}, not at ${at}`)
      if (raw['event'] !== 'alert') out.push(`${seq} pins ${item_id} unannounced`)
    }
    this.#claims = []
    for (const [name, inbox] of this.#inboxes) {
      const lost = inbox.suspects.find(({ gap }) => this.#isLost(gap))
      if (lost !== undefined) out.push(`${name} may have lost mail at ${lost.gap.from}, and no pin says so`)
      inbox.suspects = []
    }
    return out
  }

  #isLost({ from, to }: Gap): boolean {
    for (let seq = from; seq <= to; seq++) if (!this.#abandoned.has(seq)) return true
    return false
  }
}
