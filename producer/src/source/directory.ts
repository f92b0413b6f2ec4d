import { isCount, limits } from '@kim/manifest'
import type { DirectoryEntry, PersonaDirectory } from './answer.js'
import { type BodyResult, shapeInvalid } from './failures.js'
import { isPersonaName, RefusedNames } from './persona-name.js'
import { isMembers, type Members, resultOf } from './result-rows.js'

function readCountOf({ mail_total: total, unread }: Members): number | undefined {
  return isCount(total) && isCount(unread) && total >= unread ? total - unread : undefined
}

function entryOf(persona: string, row: Members): DirectoryEntry {
  const memories = row['memory_count']
  return {
    persona,
    memoryCount: isCount(memories) ? memories : undefined,
    readCount: readCountOf(row),
    isRetired: row['retired'] === true,
    isWriteOnly: row['write_only'] === true,
  }
}

/** Judges an answer of `/api/personas` (KS-11, KS-12). The first row of a name counts. */
export function judgeDirectory(value: unknown): BodyResult<PersonaDirectory> {
  const answer = resultOf(value)
  if (!answer.ok) return answer
  const entries = new Map<string, DirectoryEntry>()
  const refused = new RefusedNames()
  for (const row of answer.value.result) {
    const persona = isMembers(row) ? row['persona'] : undefined
    if (!isMembers(row) || !isPersonaName(persona)) refused.add(persona)
    else if (!entries.has(persona)) entries.set(persona, entryOf(persona, row))
    if (entries.size > limits.personasMax) {
      return { ok: false, failure: shapeInvalid(`more than ${limits.personasMax} personas`) }
    }
  }
  if (entries.size === 0) return { ok: false, failure: shapeInvalid('no row names a persona') }
  return { ok: true, value: { entries: [...entries.values()], refused: refused.list() } }
}
