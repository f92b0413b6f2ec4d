import { isCount, type JsonObject } from '@kim/manifest'

/** What a persona's record says (KS-41). */
export interface PersonaRecord {
  readonly cursor: number
  readonly floor: number
  readonly silentTo: number | undefined
  readonly knownFrom: number | undefined
  readonly state: 'up' | 'down'
  readonly watched: boolean
  readonly unreadUrgent: number
  /** The numbers of `seed_ahead` and `replay_capped` stay: by them it is known that they were announced. */
  readonly seeded: number | undefined
  readonly currentMax: number | undefined
  readonly cappedTo: number | undefined
  readonly dropped: number | undefined
}

/** A persona of whom nothing is recorded. */
export const blankPersonaRecord: PersonaRecord = {
  cursor: 0,
  floor: 0,
  silentTo: undefined,
  knownFrom: undefined,
  state: 'up',
  watched: true,
  unreadUrgent: 0,
  seeded: undefined,
  currentMax: undefined,
  cappedTo: undefined,
  dropped: undefined,
}

/** True while silenced messages are still to be announced: those of a cap (KS-34), or of a first contact (KS-94). */
export function owesAnnouncement({ silentTo, seeded, cappedTo }: PersonaRecord): boolean {
  return silentTo !== undefined && silentTo !== seeded && silentTo !== cappedTo
}

/** True while the walk of a first contact is open. What a cap silences lies above the `cursor` of its record. */
export function owesBaseline(image: PersonaRecord): boolean {
  return owesAnnouncement(image) && image.silentTo === image.cursor
}

const count = (value: unknown): number | undefined => (isCount(value) ? value : undefined)

/** Reads a record's payload; whatever is missing or of another type is as in a blank one. */
export function parsePersona(payload: JsonObject | undefined): PersonaRecord {
  return {
    cursor: count(payload?.['cursor']) ?? 0,
    floor: count(payload?.['floor']) ?? 0,
    silentTo: count(payload?.['silent_to']),
    knownFrom: count(payload?.['known_from']),
    state: payload?.['state'] === 'down' ? 'down' : 'up',
    watched: payload?.['watched'] !== false,
    unreadUrgent: count(payload?.['unread_urgent']) ?? 0,
    seeded: count(payload?.['seeded']),
    currentMax: count(payload?.['current_max']),
    cappedTo: count(payload?.['capped_to']),
    dropped: count(payload?.['dropped']),
  }
}

/** The payload of a persona's record, with the numbers of the event it carries. */
export function personaPayload(persona: string, image: PersonaRecord, numbers: JsonObject = {}): JsonObject {
  const payload: Record<string, JsonObject[string]> = {
    schema_version: 1,
    persona,
    cursor: image.cursor,
    floor: image.floor,
    state: image.state,
    watched: image.watched,
    unread_urgent: image.unreadUrgent,
  }
  if (image.silentTo !== undefined) payload['silent_to'] = image.silentTo
  if (image.knownFrom !== undefined) payload['known_from'] = image.knownFrom
  if (image.seeded !== undefined) payload['seeded'] = image.seeded
  if (image.currentMax !== undefined) payload['current_max'] = image.currentMax
  if (image.cappedTo !== undefined) payload['capped_to'] = image.cappedTo
  if (image.dropped !== undefined) payload['dropped'] = image.dropped
  return { ...payload, ...numbers }
}
