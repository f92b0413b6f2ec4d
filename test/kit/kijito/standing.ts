import type { JsonObject } from '@kim/manifest'
import { type Draft, openJournal } from '@kim/producer/internal'
import { messageRow } from './pages.js'

/** A journal that stands before the producer starts. */
export interface Standing {
  /** The watermark: the highest message that is in; 0: none is. */
  readonly cursor: number
  /** Messages above the watermark that are in too, under an open pin. */
  readonly above?: readonly number[]
  readonly persona?: string
  /** The inbox counted as down when the last producer stopped. */
  readonly isDown?: boolean
  /** First contact was cut short: messages stand, and no persona. */
  readonly isUnmet?: boolean
  /** Alerts that are open, by kind, with their members. */
  readonly open?: Readonly<Record<string, JsonObject>>
}

/** Records a commit holds at most, well within the limit. */
const COMMIT = 500

function draft(
  persona: string,
  item_type: string,
  item_id: string,
  action: string,
  payload: JsonObject,
  event?: string,
): Draft {
  const summary = `${item_type} ${item_id}`
  const body = { ...payload, persona, schema_version: 1 }
  return { agent: persona, action, item_type, item_id, summary, payload: body, ...(event ? { event } : {}) }
}

/** Writes the journal of a producer that ran before, and stopped. */
export function stand(storeDir: string, source: string, standing: Standing): void {
  const { cursor, above = [], persona = 'argus', isDown = false, isUnmet = false, open = {} } = standing
  const journal = openJournal({ storeDir, source })
  try {
    const message = (action: string, id: number): Draft => {
      const { from, content, created, read } = messageRow(id)
      const payload = {
        id,
        from,
        content,
        content_length: String(content).length,
        created,
        read,
      } as JsonObject
      return draft(
        persona,
        'message',
        `${persona}/${id}`,
        action,
        payload,
        action === 'create' ? 'new' : undefined,
      )
    }
    const state = (more: JsonObject): JsonObject => ({
      cursor,
      floor: cursor,
      state: isDown ? 'down' : 'up',
      watched: true,
      unread_urgent: 0,
      ...more,
    })
    if (cursor > 0) journal.append([message('backfill', cursor)])
    if (isUnmet) return
    journal.append([
      draft(persona, 'persona', persona, 'create', state({ state: 'up' })),
      draft(persona, 'persona', persona, 'update', state({ state: 'up' }), 'armed'),
      {
        agent: 'kim',
        action: 'journal_note',
        item_type: 'journal',
        item_id: 'registry_genesis',
        summary: 'registry genesis',
        payload: {
          kind: 'registry_genesis',
          mode: 'list',
          personas: [persona],
          missing: [],
          schema_version: 1,
        },
      },
      ...Object.entries(open).map(([kind, members]) =>
        draft(
          persona,
          'alert',
          `${persona}/${kind}`,
          'create',
          { kind, status: 'open', reason: `${kind}: seen`, ...members },
          'alert',
        ),
      ),
      ...(isDown ? [draft(persona, 'persona', persona, 'update', state({}))] : []),
    ])
    for (let from = 0; from < above.length; from += COMMIT) {
      journal.append(above.slice(from, from + COMMIT).map(id => message('create', id)))
    }
  } finally {
    journal.close()
  }
}
