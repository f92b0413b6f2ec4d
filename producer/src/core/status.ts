import type { CoreStatus, PersonaStatus } from './core.js'
import type { CoreState } from './core-state.js'
import { needsGenesis } from './genesis.js'
import type { Inbox } from './inbox.js'
import { pinOf } from './pin.js'

/** How things stand, for people and for metrics. */
export function statusOf(
  core: CoreState,
  totals: Pick<CoreStatus, 'polls' | 'failures' | 'asked'>,
): CoreStatus {
  return {
    personas: [...core.inboxes.values()].map(inbox => personaStatus(core, inbox)),
    counts: countsOf(core),
    polls: totals.polls,
    failures: totals.failures,
    asked: { ...totals.asked },
    genesis: !needsGenesis(core.capabilities, core.mode),
  }
}

function countsOf({ options, table }: CoreState): CoreStatus['counts'] {
  if (!options.fastPath) return 'off'
  return table === undefined ? 'unavailable' : 'live'
}

function personaStatus(core: CoreState, inbox: Inbox): PersonaStatus {
  const { persona } = inbox
  const unread = core.unreadOf(inbox.name)
  return {
    persona: inbox.name,
    state: persona.isDown ? 'down' : 'up',
    armed: inbox.isArmed,
    watermark: persona.watermark,
    consecutiveFailures: inbox.liveness.failures,
    lastPollMs: inbox.lastPollMs,
    lastHealthyMs: inbox.lastHealthyMs,
    unread: unread === 'unknown' ? undefined : unread,
    unreadUrgent: core.table === undefined ? undefined : (core.table.get(inbox.name)?.unreadUrgent ?? 0),
    pinned: pinOf(persona) !== undefined,
    lastReason: inbox.liveness.reason,
  }
}
