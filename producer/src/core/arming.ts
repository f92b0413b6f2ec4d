import type { Persona } from '../journal/persona.js'
import type { HealthyPoll, TakenRow } from './poll.js'

/** The rows of a poll that the journal never had, ascending: each becomes a record, woken for or not (KS-29). */
export function freshRows(persona: Persona, poll: HealthyPoll): readonly TakenRow[] {
  return poll.rows.filter(({ row }) => row.id > poll.reach && !persona.hasHad(row.id))
}

/** What silences messages of a poll besides what does so already. */
export interface Silence {
  readonly silentTo: number
  readonly seeded: number | undefined
}

/** What an arming goes by. */
export interface ArmingTerms {
  readonly isArmed: boolean
  readonly maxReplay: number
  readonly seedAt: number | undefined
}

/**
 * Up to which id messages are appended without an event from this poll on, if that changes (KS-34 to KS-36): a
 * seed does it for a persona without a record, a cap at arming. There is no cap while a pin stands: what its walks
 * bring is no backlog, and none for a persona that is armed below its window.
 */
export function silenceOf(
  persona: Persona,
  poll: HealthyPoll,
  fresh: readonly TakenRow[],
  { isArmed, maxReplay, seedAt }: ArmingTerms,
): Silence | undefined {
  const isResumed = poll.arrival === 'known' || poll.arrival === 'seed'
  // A seed that the record has already did what it was for.
  const seeded = !isArmed && isResumed && persona.record?.seeded !== seedAt ? seedAt : undefined
  const before = Math.max(persona.silentTo, seeded ?? 0)
  const isCapped =
    !isArmed &&
    poll.pin === undefined &&
    isResumed &&
    fresh.reduce((count, { row }) => (row.id > before ? count + 1 : count), 0) > maxReplay
  const silentTo = isCapped ? (fresh.at(-1)?.row.id ?? before) : before
  if (silentTo <= persona.silentTo && seeded === undefined) return undefined
  return { silentTo, seeded: seeded ?? persona.record?.seeded }
}
