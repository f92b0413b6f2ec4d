import { type Input, type Io, locateStore, safeJson, safeText } from '@kim/cli-kit'
import { type PersonaRow, personaRows } from '../board/persona-rows.js'
import { withObserver } from '../board/with-observer.js'
import { displayWidth } from '../render/columns.js'

/** `kim-tail personas`: who is in the journal. */
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
