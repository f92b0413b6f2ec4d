import { alertDraft, personaDraft } from '../../core/drafts.js'
import { blankPersonaRecord } from '../../core/persona-record.js'
import { Personas } from '../../core/personas.js'
import type { Draft } from '../../journal/draft.js'
import type { StoredState } from '../../journal/journal.js'
import type { OlderState } from './state-file.js'

/** What becomes of a state file. */
export type ImportResult = 'taken_over' | 'stands_already' | 'no_cursor'

/**
 * What a state file says, as records. The cursor is no watermark here, as nothing of what it covers stands in this
 * journal: it silences, as a seed does, and what the newest page still shows of it comes in without waking anybody. The
 * first poll sets `floor` (KS-35). A condition that was announced stands as announced.
 */
export function importedDrafts({
  persona,
  cursor,
  isDown,
  consecutiveFailures,
  isUnreadHidden,
}: OlderState): Draft[] {
  if (cursor === undefined) return []
  const image = {
    ...blankPersonaRecord,
    silentTo: cursor,
    seeded: cursor,
    state: isDown ? 'down' : 'up',
  } as const
  const drafts = [
    personaDraft(persona, image, {
      isNew: true,
      summary: `${persona} is taken over from an older monitor, which told everything up to ${cursor}`,
    }),
  ]
  if (isDown) {
    drafts.push(
      alertDraft(persona, 'unreachable', {
        isNew: true,
        status: 'open',
        reason: 'unreachable: an older monitor announced it',
        members: { consecutive_failures: consecutiveFailures, seconds: 0 },
      }),
    )
  }
  if (isUnreadHidden) {
    drafts.push(
      alertDraft(persona, 'unread-not-shown', {
        isNew: true,
        status: 'open',
        reason: 'unread-not-shown: an older monitor announced it',
        members: { unread_not_shown: 1, window_floor: null, cursor_at: cursor, above_watermark: null },
      }),
    )
  }
  return drafts
}

/** How a state file stands to what the journal knows; a text says why it cannot be taken over. */
export function importResultOf(
  { persona, cursor }: OlderState,
  state: StoredState,
): ImportResult | { readonly why: string } {
  const known = new Personas(state).find(persona)
  const image = known?.image
  if (cursor === undefined) return 'no_cursor'
  if (known === undefined || (image === undefined && known.index.size === 0)) return 'taken_over'
  if (image?.seeded === cursor && (image.silentTo ?? 0) >= cursor) return 'stands_already'
  return {
    why: `the journal knows ${persona} already, up to ${Math.max(known.watermark, image?.silentTo ?? 0)}`,
  }
}

/** Whether a producer may have told something of an inbox: what an import alone recorded was told by nobody of ours. */
export function isBegun(persona: string, state: StoredState): boolean {
  const known = new Personas(state).find(persona)
  return known !== undefined && !(known.isOnlyCreated && known.alerts.size === 0)
}
