/** `kim-tail personas`, and what the state of a journal says about one persona. */
import { type Input, type Io, locateStore, safeJson, safeText } from '@kim/cli-kit'
import type { JsonObject } from '@kim/manifest'
import { withObserver } from '../journal.js'
import { displayWidth } from '../render/short.js'

/** `kim-tail personas`: lists the personas of a journal. */
export async function run(input: Input, io: Io): Promise<number> {
  const rows = await withObserver(locateStore(input, io.env), ({ state }) => personaRows(state.values()))
  if (input.bool('json')) {
    for (const row of rows) io.stdout.write(`${safeJson(JSON.stringify(row))}\n`)
    return 0
  }
  const width = Math.max(0, ...rows.map(({ persona }) => displayWidth(safeText(persona))))
  for (const row of rows) {
    const name = safeText(row.persona)
    io.stdout.write(`${name}${' '.repeat(width - displayWidth(name))}  ${describePersona(row)}\n`)
  }
  return 0
}

/** One persona in words. */
export function describePersona(row: PersonaRow): string {
  const newest = row.newest_id === null ? 'no message' : `newest ${row.newest_id}`
  const from = row.newest_from === null ? '' : ` from ${safeText(row.newest_from)}`
  const alerts = row.open_alerts.length === 0 ? '' : `, alerts: ${row.open_alerts.map(safeText).join(' ')}`
  const urgent = row.unread_urgent === 0 ? '' : `, ${row.unread_urgent} urgent on the server`
  return `${row.unread} unread in the journal${urgent}, ${newest}${from}, ${row.watched ? row.state : 'not watched any more'}${alerts}`
}

/** An entity of the state, as far as the commands need it. */
export interface BoardEntity {
  readonly itemType: string
  readonly itemId: string
  readonly agent?: string | undefined
  readonly payload: JsonObject | undefined
}

/** A member that is a non-negative whole number. */
export function countMember(payload: JsonObject | undefined, name: string): number | undefined {
  const value = payload?.[name]
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** A member that is a text. */
export function textMember(payload: JsonObject | undefined, name: string): string | undefined {
  const value = payload?.[name]
  return typeof value === 'string' ? value : undefined
}

/** What is listed of one persona. */
export interface PersonaRow {
  persona: string
  /** Messages in the journal that are not known to be read. */
  unread: number
  /** The same under the name that `kim-producer status` uses: there, `unread` is the server's count. */
  unread_journal: number
  /** By the server's count. */
  unread_urgent: number
  /** Id of the newest message; null if there is none. */
  newest_id: number | null
  newest_from: string | null
  /** From the journal; `unknown` before the first poll is finished, and once the persona is no longer watched. */
  state: 'up' | 'down' | 'unknown'
  /** False once the producer has stopped to ask for it. */
  watched: boolean
  open_alerts: string[]
}

/** One row a persona, by name. */
export function personaRows(entities: Iterable<BoardEntity>): PersonaRow[] {
  const rows = new Map<string, PersonaRow>()
  const rowOf = (persona: string): PersonaRow => {
    const row = rows.get(persona) ?? {
      persona,
      unread: 0,
      unread_journal: 0,
      unread_urgent: 0,
      newest_id: null,
      newest_from: null,
      state: 'unknown',
      watched: true,
      open_alerts: [],
    }
    rows.set(persona, row)
    return row
  }
  for (const { agent, itemId, itemType, payload } of entities) {
    const slash = itemId.lastIndexOf('/')
    const persona =
      textMember(payload, 'persona') ??
      (slash > 0 && itemType !== 'persona' ? itemId.slice(0, slash) : itemId)
    if (itemType === 'message') addMessage(rowOf(persona), payload)
    else if (itemType === 'persona') addPersona(rowOf(persona), payload)
    else if (itemType !== 'alert') {
      // Another writer's journal has agents without mail: -p selects their records.
      if (agent !== undefined) rowOf(agent)
    } else if (payload?.['status'] === 'open')
      rowOf(persona).open_alerts.push(textMember(payload, 'kind') ?? 'alert')
  }
  for (const { open_alerts: alerts } of rows.values()) alerts.sort()
  return [...rows.values()].sort((a, b) => (a.persona < b.persona ? -1 : 1))
}

function addMessage(row: PersonaRow, payload: BoardEntity['payload']): void {
  if (payload?.['read'] === false) row.unread_journal = row.unread += 1
  const id = countMember(payload, 'id')
  if (id !== undefined && id > (row.newest_id ?? -1)) {
    row.newest_id = id
    row.newest_from = textMember(payload, 'from') ?? null
  }
}

function addPersona(row: PersonaRow, payload: BoardEntity['payload']): void {
  row.unread_urgent = countMember(payload, 'unread_urgent') ?? 0
  const state = payload?.['state']
  row.watched = payload?.['watched'] !== false
  row.state = row.watched && (state === 'up' || state === 'down') ? state : 'unknown'
}
