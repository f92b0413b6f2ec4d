import type { Draft } from '../journal/draft.js'
import { blankPersonaRecord, type Persona, type PersonaRecord } from '../journal/persona.js'
import type { PersonaCount } from '../source/answer.js'
import { personaDraft } from './drafts.js'
import type { Inbox } from './inbox.js'
import type { PlanContext } from './plan-context.js'
import { readMarks } from './row-changes.js'

/** The counts of the account, or undefined where they are not available. */
export type CountsTable = ReadonlyMap<string, PersonaCount> | undefined

/** The count of urgent mail as it now is: absence from a valid answer is 0, a mistyped one says nothing. */
function urgentNow(table: CountsTable, name: string, before: number): number {
  if (table === undefined) return before
  const row = table.get(name)
  return row === undefined ? 0 : (row.unreadUrgent ?? before)
}

/** The persona's record as the facts besides its polls have it; the same object where nothing changed. */
function imageNow(
  persona: Persona,
  record: PersonaRecord,
  table: CountsTable,
  isWatched: boolean,
): PersonaRecord {
  const unreadUrgent = urgentNow(table, persona.name, record.unreadUrgent)
  if (unreadUrgent === record.unreadUrgent && record.watched === isWatched) return record
  return { ...record, unreadUrgent, watched: isWatched, cursor: persona.cursor }
}

/** True where something besides a poll is to be recorded about a persona. */
export function hasFacts(persona: Persona, inbox: Inbox | undefined, table: CountsTable): boolean {
  if (inbox?.isAdded === true && persona.record === undefined) return true
  if (inbox !== undefined && inbox.reads.length > 0) return true
  const { record } = persona
  return record !== undefined && imageNow(persona, record, table, inbox !== undefined) !== record
}

/** What is recorded about a persona besides its polls: that it came in, its urgent count, what was read. */
export function* factsPlan(
  persona: Persona,
  inbox: Inbox | undefined,
  table: CountsTable,
  context: PlanContext,
): Generator<Draft> {
  const { name, record } = persona
  if (record === undefined && inbox?.isAdded === true) {
    const summary = `${name} was added`
    yield personaDraft(name, blankPersonaRecord, { isNew: true, event: 'persona_added', summary })
    return
  }
  if (record !== undefined) {
    const now = imageNow(persona, record, table, inbox !== undefined)
    if (now !== record) {
      const summary = now.watched ? `${name}: ${now.unreadUrgent} urgent` : `${name} is not watched any more`
      yield personaDraft(name, now, { isNew: false, summary })
    }
  }
  if (inbox !== undefined) yield* readMarks(persona, inbox.reads, context)
}
