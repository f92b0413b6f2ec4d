import type { AlertKind, JsonObject } from '@kim/manifest'
import { alertDraft, personaDraft } from '../../core/record-payloads.js'
import type { Draft } from '../../journal/draft.js'
import type { WriterState } from '../../journal/entity-reader.js'
import { blankPersonaRecord } from '../../journal/persona.js'
import type { OlderState } from './state-file.js'

/** The result for a state file. */
export type ImportResult = 'taken_over' | 'stands_already' | 'no_cursor'

const DOWN = 'this inbox did not answer; the first good poll ends this'
const HIDDEN = 'the server counted mail that it did not show; this ends when the persona reads it there'

/**
 * The records of a state file. Its cursor does not become the watermark, because the journal has no message below it.
 * Like a seed it silences: messages below it that the server still shows are recorded and not announced. The first poll
 * sets `floor` (KS-35). Open alerts stay open.
 */
export function importedDrafts(older: OlderState): Draft[] {
  const { persona, cursor, isDown, consecutiveFailures, isUnreadHidden } = older
  if (cursor === undefined) return []
  const image = {
    ...blankPersonaRecord,
    silentTo: cursor,
    seeded: cursor,
    state: isDown ? 'down' : 'up',
  } as const
  const summary = `${persona} is imported from the older monitor, which announced mail up to message ${cursor}`
  const alert = (kind: AlertKind, what: string, members: JsonObject): Draft => {
    const reason = `${kind}: the older monitor's state says that ${what}`
    return alertDraft({ name: persona, alerts: new Map() }, kind, { status: 'open', reason, members })
  }
  const outage = { consecutive_failures: consecutiveFailures, seconds: 0 }
  const hidden = { unread_not_shown: 1, window_floor: null, cursor_at: cursor, above_watermark: null }
  return [
    personaDraft(persona, image, { isNew: true, summary }),
    ...(isDown ? [alert('unreachable', DOWN, outage)] : []),
    ...(isUnreadHidden ? [alert('unread-not-shown', HIDDEN, hidden)] : []),
  ]
}

/** Compares a state file with the journal. `why` says why it cannot be imported. */
export function importResultOf(
  { persona, cursor }: OlderState,
  state: WriterState,
): ImportResult | { readonly why: string } {
  const known = state.personas.find(persona)
  const record = known?.record
  if (cursor === undefined) return 'no_cursor'
  if (known === undefined || (record === undefined && known.messages.size === 0)) return 'taken_over'
  if (record?.seeded === cursor && (record.silentTo ?? 0) >= cursor) return 'stands_already'
  return {
    why: `the journal already has ${persona}, with mail up to message ${Math.max(known.watermark, record?.silentTo ?? 0)}`,
  }
}

/** Whether a producer may have announced something of an inbox. An import announces nothing. */
export function isBegun(persona: string, state: WriterState): boolean {
  const known = state.personas.find(persona)
  return known !== undefined && !(known.isOnlyCreated && known.alerts.size === 0)
}
