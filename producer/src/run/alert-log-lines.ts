import { shellWord } from '@kim/cli-kit'
import { type AccountAlertKind, isAccountAlertKind, isJsonObject, type JsonObject } from '@kim/manifest'
import { accountEnd, accountReason, namesIn } from '../core/alerts.js'
import type { Draft } from '../journal/draft.js'
import { type FailedServer, remedyOf } from '../source/remedy.js'
import type { RunEntry } from './run-log.js'

/**
 * The log lines about alerts that a commit opened or cleared, and about mail that is not announced. The journal has an
 * account-wide alert once for each inbox that gets it; the log has it once (KS-91).
 */
export class AlertLines {
  readonly #asked: FailedServer
  /** The names of each account-wide alert as the log has them; undefined for one that this process did not log yet. */
  readonly #said = new Map<AccountAlertKind, ReadonlySet<string>>()

  constructor(asked: FailedServer) {
    this.#asked = asked
  }

  /** What these drafts have to say, in their order. */
  of(drafts: readonly Draft[]): RunEntry[] {
    return drafts.flatMap(draft => {
      const payload = isJsonObject(draft.payload) ? draft.payload : {}
      if (draft.event === 'replay_capped') return [capped(draft, payload)]
      if (draft.item_type !== 'alert') return []
      const { kind } = payload
      return isAccountAlertKind(kind) ? this.#ofAccount(draft, payload, kind) : this.#ofInbox(draft, payload)
    })
  }

  #ofInbox({ agent: persona, summary: message, event }: Draft, payload: JsonObject): RunEntry[] {
    // The text of one that does not answer is what came instead, and names no kind.
    const { kind } = payload
    const about = { persona, message, ...(typeof kind === 'string' ? { fields: { kind } } : {}) }
    if (payload['status'] === 'cleared') return [{ level: 'info', code: 'alert_ended', ...about }]
    // An open one that goes on is no news.
    if (event !== 'alert') return []
    const hint = remedyOf(message, this.#asked)
    return [{ level: 'warn', code: 'alert', ...about, ...(hint === undefined ? {} : { hint }) }]
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
    return [...(come.length > 0 ? [began(kind, come)] : []), ...(gone.length > 0 ? [ended(kind, gone)] : [])]
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

function began(kind: AccountAlertKind, names: readonly string[]): RunEntry {
  return {
    level: 'warn',
    code: 'alert',
    message: accountReason(kind, names),
    hint:
      kind === 'stranded-mail'
        ? 'start an agent that reads NAME; kim-tail -p NAME (with the --store of this producer) shows who wrote; if it knows no NAME, the name is mistyped: tell the author'
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
