import type { CoreStatus, PersonaStatus } from './core.js'
import { isGenesisOwed } from './genesis.js'
import type { Hive } from './hive.js'
import type { Inbox } from './inbox.js'

/** How things stand, for people and for metrics. */
export function statusOf(hive: Hive, totals: Pick<CoreStatus, 'polls' | 'failures' | 'asked'>): CoreStatus {
  return {
    personas: [...hive.inboxes.values()].map(inbox => personaStatus(hive, inbox)),
    counts: countsOf(hive),
    polls: totals.polls,
    failures: totals.failures,
    asked: { ...totals.asked },
    genesis: !isGenesisOwed(hive.view.capabilities, hive.mode),
  }
}

function countsOf({ options, table }: Hive): CoreStatus['counts'] {
  if (!options.fastPath) return 'off'
  return table === undefined ? 'unavailable' : 'live'
}

function personaStatus(hive: Hive, inbox: Inbox): PersonaStatus {
  const persona = hive.personas.take(inbox.name)
  const unread = hive.unreadOf(inbox.name)
  return {
    persona: inbox.name,
    state: persona.isDown ? 'down' : 'up',
    armed: inbox.isArmed,
    watermark: persona.watermark,
    consecutiveFailures: inbox.liveness.failures,
    lastPollMs: inbox.lastPollMs,
    lastHealthyMs: inbox.lastHealthyMs,
    unread: unread === 'unknown' ? undefined : unread,
    unreadUrgent: hive.table === undefined ? undefined : (hive.table.get(inbox.name)?.unreadUrgent ?? 0),
    pinned: persona.pin !== undefined,
    lastReason: inbox.liveness.reason,
  }
}
