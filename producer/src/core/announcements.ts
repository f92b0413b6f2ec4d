import type { JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import {
  blankPersonaRecord,
  owesAnnouncement,
  owesBaseline,
  type Persona,
  type PersonaRecord,
} from '../journal/persona.js'
import { personaDraft } from './drafts.js'
import type { HealthyPoll, TakenRow } from './poll.js'

/** An announcement, and the persona's record as it stands with it. */
export interface Announcement {
  readonly draft: Draft
  readonly record: PersonaRecord
}

/** KS-38: damage proves that a cursor existed, so what is visible is news, and somebody must know. */
export function stateCorrupt(name: string, poll: HealthyPoll): Announcement {
  const lowest = poll.rows[0]?.row.id
  const record: PersonaRecord = { ...blankPersonaRecord, floor: lowest ?? 0 }
  const armedAt = Math.max(0, (lowest ?? 1) - 1)
  const reason =
    'state_corrupt: records are missing from the journal, so what this inbox had read is not known'
  const numbers: JsonObject = { armed_at: armedAt, reason }
  const summary = `${name}: armed below its window, as records are missing`
  return {
    record,
    draft: personaDraft(name, record, { isNew: true, event: 'state_corrupt', numbers, summary }),
  }
}

/** KS-31: an inbox that was not empty was taken over, and what it held wakes nobody. */
export function baselineSkipped(
  persona: Persona,
  record: PersonaRecord,
  skipped: { readonly count: number; readonly range: readonly [number, number] },
  unreadHeld: number | 'unknown',
): Draft | undefined {
  if (unreadHeld === 0) return undefined
  const reason = 'baseline_skipped: the first contact with an inbox that was not empty'
  const numbers: JsonObject = {
    armed_at: record.cursor,
    skipped: skipped.count,
    id_range: [...skipped.range],
    unread_held: unreadHeld,
    reason,
  }
  const summary = `${persona.name}: ${skipped.count} messages taken over without a wake`
  return personaDraft(persona.name, record, { isNew: false, event: 'baseline_skipped', numbers, summary })
}

/** KS-35: the seed lies above everything visible. Said once: its number stays in the record. */
export function seedAhead(name: string, before: PersonaRecord, poll: HealthyPoll): Announcement | undefined {
  const { seeded, currentMax } = before
  const visible = poll.rows.at(-1)?.row.id ?? 0
  if (seeded === undefined || currentMax !== undefined || poll.wasArmed || seeded <= visible) return undefined
  const record: PersonaRecord = { ...before, currentMax: visible }
  const summary = `${name}: the seed ${seeded} lies above everything visible, ${visible}`
  return { record, draft: personaDraft(name, record, { isNew: false, event: 'seed_ahead', summary }) }
}

/** KS-34: how many messages a cap silenced, exact; the count is complete once no walk is open. */
export function replayCapped(
  persona: Persona,
  before: PersonaRecord,
  silenced: readonly TakenRow[],
): Announcement | undefined {
  const { silentTo, seeded, cursor } = before
  if (silentTo === undefined || !owesAnnouncement(before) || owesBaseline(before)) return undefined
  const above = Math.max(cursor, seeded ?? 0)
  const now = silenced.filter(({ row }) => row.id > above && row.id <= silentTo).length
  const dropped = persona.messages.countWithin(above, silentTo) + now
  const record: PersonaRecord = { ...before, cappedTo: silentTo, dropped }
  const summary = `${persona.name}: ${dropped} messages up to ${silentTo} wake nobody`
  return {
    record,
    draft: personaDraft(persona.name, record, { isNew: false, event: 'replay_capped', summary }),
  }
}
