import { shellWord } from '@kim/cli-kit'
import { type AccountAlertKind, isAccountAlertKind, isJsonObject, type JsonObject } from '@kim/manifest'
import { accountEnd, accountReason, listOf, namesIn } from '../core/alerts.js'
import type { Draft } from '../journal/draft.js'
import { type FailedServer, remedyOf } from '../source/remedy.js'
import type { RunEntry } from './run-log.js'

/** A line about inboxes that went down or came up waits this long for others (KS-96). */
const GATHER_MS_MIN = 5000
const GATHER_MS_MAX = 60_000

/**
 * The log lines about alerts that a commit opened or cleared, and about mail that is not announced. The journal has an
 * account-wide alert, and an outage, once for each inbox that it concerns; the log has it once (KS-91, KS-96).
 */
export class AlertLines {
  readonly #asked: FailedServer
  /** Inboxes that went down in the life of this process, and since when one is. */
  readonly #down = new Set<string>()
  #downSinceMs = 0
  /** Inboxes that went down, by the reason, or came up again (`undefined`), and that no line names yet. */
  #gathered = new Map<string | undefined, string[]>()
  /** When the gathered ones are due. */
  dueMs: number = Number.POSITIVE_INFINITY
  /** The names of each account-wide alert as the log has them; undefined for one that this process did not log yet. */
  readonly #said = new Map<AccountAlertKind, ReadonlySet<string>>()

  constructor(asked: FailedServer) {
    this.#asked = asked
  }

  /** What these drafts have to say, in their order. */
  of(drafts: readonly Draft[], nowMs: number): RunEntry[] {
    return drafts.flatMap(draft => {
      const payload = isJsonObject(draft.payload) ? draft.payload : {}
      if (draft.event === 'replay_capped') return [capped(draft, payload)]
      if (draft.item_type !== 'alert') return []
      const { kind } = payload
      if (isAccountAlertKind(kind)) return this.#ofAccount(draft, payload, kind)
      const isOver = payload['status'] === 'cleared'
      // An open one that goes on is no news.
      if (!isOver && draft.event !== 'alert') return []
      if (kind === 'unreachable') return this.#gather(draft.agent, isOver ? undefined : draft.summary, nowMs)
      const { agent, summary } = draft
      return [this.#line([agent], `${agent}: ${summary}`, String(kind), isOver ? undefined : summary)]
    })
  }

  /** The lines about inboxes that went down or came up, if they are due. */
  due(nowMs: number): RunEntry[] {
    if (nowMs < this.dueMs) return []
    const gathered = [...this.#gathered]
    this.#gathered = new Map()
    this.dueMs = Number.POSITIVE_INFINITY
    return gathered.map(([reason, names]) => {
      const are = names.length === 1 ? `${listOf(names)} is` : `${names.length} inboxes are`
      const which = names.length === 1 ? '' : `: ${listOf(names)}`
      const text = reason === undefined ? `${are} up again${which}` : `${are} down (${reason})${which}`
      return this.#line(names, text, 'unreachable', reason)
    })
  }

  #gather(name: string, reason: string | undefined, nowMs: number): RunEntry[] {
    // One that came up and is down again: its lines keep their order.
    const earlier = reason !== undefined && this.#gathered.get(undefined)?.includes(name) === true
    const lines = earlier ? this.due(Number.POSITIVE_INFINITY) : []
    if (this.#down.size === 0) this.#downSinceMs = nowMs
    if (reason === undefined) this.#down.delete(name)
    else this.#down.add(name)
    const lastedMs = nowMs - this.#downSinceMs
    if (this.#gathered.size === 0)
      this.dueMs = nowMs + Math.min(Math.max(GATHER_MS_MIN, lastedMs), GATHER_MS_MAX)
    this.#gathered.set(reason, [...(this.#gathered.get(reason) ?? []), name])
    return lines
  }

  /** Without a reason it is the end of an alert. */
  #line(names: readonly string[], message: string, kind: string, reason: string | undefined): RunEntry {
    const about =
      names.length === 1
        ? { persona: names[0], message, fields: { kind } }
        : { message, fields: { kind, inboxes: names.length } }
    if (reason === undefined) return { level: 'info', code: 'alert_ended', ...about }
    const hint = remedyOf(reason, this.#asked)
    return { level: 'warn', code: 'alert', ...about, ...(hint === undefined ? {} : { hint }) }
  }

  #ofAccount({ event }: Draft, payload: JsonObject, kind: AccountAlertKind): RunEntry[] {
    const before = this.#said.get(kind)
    const listed = namesIn(payload, kind).filter(name => typeof name === 'string')
    const holds = new Set(listed)
    if (payload['status'] === 'cleared') {
      this.#said.set(kind, new Set())
      const gone = [...(before ?? listed)]
      // Every inbox that got the alert gets its end.
      return before?.size === 0 ? [] : [ended(kind, gone)]
    }
    this.#said.set(kind, holds)
    // One that stood before this process began was said then.
    if (before === undefined && event !== 'alert') return []
    const come = listed.filter(name => before?.has(name) !== true)
    const gone = [...(before ?? [])].filter(name => !holds.has(name))
    // The reason of the alert says more of each name, but names them all.
    const isWhole = kind === 'stranded-mail' && come.length === listed.length
    const text = isWhole ? String(payload['reason']) : accountReason(kind, come)
    return [
      ...(come.length > 0 ? [began(kind, come, text)] : []),
      ...(gone.length > 0 ? [ended(kind, gone)] : []),
    ]
  }
}

/** KS-34: what a cap silenced is in the journal, and no sink announces it, now or later. */
function capped({ agent: persona, summary: message }: Draft, { dropped }: JsonObject): RunEntry {
  return {
    level: 'warn',
    code: 'replay_capped',
    persona,
    message,
    hint: `more messages were waiting than --max-replay allows, so they stay unannounced; print them: kim-tail -p ${shellWord(persona.replaceAll(',', '\\,'))} --since 1d (with the --store of this producer); to announce more the next time, raise --max-replay`,
    ...(typeof dropped === 'number' ? { fields: { dropped } } : {}),
  }
}

function began(kind: AccountAlertKind, names: readonly string[], message: string): RunEntry {
  return {
    level: 'warn',
    code: 'alert',
    message,
    hint:
      kind === 'stranded-mail'
        ? 'start an agent that reads NAME; kim-tail -p NAME (with the --store of this producer) shows who wrote. If the server does not list a name, the author mistyped it, and the journal has no mail for it: find the author at the server and say the right name'
        : 'wake its agent; kim-tail -p NAME (with the --store of this producer) shows the mail',
    fields: { kind, names: names.length },
  }
}

function ended(kind: AccountAlertKind, names: readonly string[]): RunEntry {
  return {
    level: 'info',
    code: 'alert_ended',
    message: accountEnd(kind, names),
    fields: { kind, names: names.length },
  }
}
