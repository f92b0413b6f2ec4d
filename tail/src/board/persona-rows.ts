import { type BoardEntity, countMember, textMember } from './entity.js'

/** What a list of personas says about one. */
export interface PersonaRow {
  readonly persona: string
  /** Messages in the journal that are not known to be read. */
  readonly unread: number
  /** The same, by the name that `kim-producer status` has for it: its `unread` is the server's count. */
  readonly unread_journal: number
  /** By the server's count. */
  readonly unread_urgent: number
  /** Id of the newest message that stands; null without any. */
  readonly newest_id: number | null
  readonly newest_from: string | null
  /** As the journal says: `up`, `down`, or `unknown` before first contact is finished and once it is watched no more. */
  readonly state: 'up' | 'down' | 'unknown'
  /** False once the journal says that nobody asks for it any more. */
  readonly watched: boolean
  readonly open_alerts: readonly string[]
}

/** One row a persona, by name. */
export function personaRows(entities: Iterable<BoardEntity>): PersonaRow[] {
  const rows = new Map<string, Draft>()
  const rowOf = (persona: string): Draft => {
    const row = rows.get(persona) ?? {
      unread: 0,
      urgent: 0,
      newestId: undefined,
      newestFrom: undefined,
      state: 'unknown' as const,
      isWatched: true,
      alerts: [],
    }
    rows.set(persona, row)
    return row
  }
  for (const { itemId, itemType, payload } of entities) {
    const slash = itemId.lastIndexOf('/')
    const persona =
      textMember(payload, 'persona') ??
      (slash > 0 && itemType !== 'persona' ? itemId.slice(0, slash) : itemId)
    if (itemType === 'message') addMessage(rowOf(persona), payload)
    else if (itemType === 'persona') addPersona(rowOf(persona), payload)
    else if (itemType === 'alert' && payload?.['status'] === 'open')
      rowOf(persona).alerts.push(textMember(payload, 'kind') ?? 'alert')
  }
  return [...rows]
    .map(([persona, { alerts, isWatched, newestFrom, newestId, state, unread, urgent }]) => ({
      persona,
      unread,
      unread_journal: unread,
      unread_urgent: urgent,
      newest_id: newestId ?? null,
      newest_from: newestFrom ?? null,
      state,
      watched: isWatched,
      open_alerts: alerts.sort(),
    }))
    .sort((a, b) => (a.persona < b.persona ? -1 : 1))
}

interface Draft {
  unread: number
  urgent: number
  newestId: number | undefined
  newestFrom: string | undefined
  state: PersonaRow['state']
  isWatched: boolean
  readonly alerts: string[]
}

function addMessage(row: Draft, payload: BoardEntity['payload']): void {
  if (payload?.['read'] === false) row.unread += 1
  const id = countMember(payload, 'id')
  if (id !== undefined && id > (row.newestId ?? -1)) {
    row.newestId = id
    row.newestFrom = textMember(payload, 'from')
  }
}

function addPersona(row: Draft, payload: BoardEntity['payload']): void {
  row.urgent = countMember(payload, 'unread_urgent') ?? 0
  const state = payload?.['state']
  row.isWatched = payload?.['watched'] !== false
  row.state = row.isWatched && (state === 'up' || state === 'down') ? state : 'unknown'
}
