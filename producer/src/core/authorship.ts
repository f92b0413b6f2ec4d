import type { Persona, Personas } from '../journal/persona.js'
import { pinOf } from './pin.js'

/** Has somebody written since? (KS-71) */
export type HasWritten = 'yes' | 'no' | 'unknown'

/** Whether an author wrote anything above an id, as far as these inboxes were observed. */
export function hasWrittenSince(
  author: string,
  id: number,
  observed: Iterable<Persona>,
  personas: Personas,
): HasWritten {
  const newest = personas.newestOf(author)
  if (newest !== undefined && newest > id) return 'yes'
  if (!personas.isSeen || !personas.hasAuthors) return 'unknown'
  for (const persona of observed) {
    const { record } = persona
    if (record === undefined) continue
    if (id < Math.max(record.floor, record.knownFrom ?? 0)) return 'unknown'
    if (pinOf(persona) !== undefined) return 'unknown'
  }
  return 'no'
}
