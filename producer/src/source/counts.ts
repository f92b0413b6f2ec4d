import { isCount } from '@kim/manifest'
import type { PersonaCount, UnreadCounts } from './answer.js'
import type { BodyResult } from './failures.js'
import { isPersonaName, RefusedNames } from './persona-name.js'
import { isMembers, resultOf } from './result-rows.js'

/** A token goes into the next request's address, where a longer one would only ever be refused. */
const CURSOR_CHARACTERS_MAX = 4096

function cursorOf(value: unknown): string | undefined {
  const isUsable =
    typeof value === 'string' &&
    value !== '' &&
    value.length <= CURSOR_CHARACTERS_MAX &&
    !/\p{Surrogate}/u.test(value)
  return isUsable ? value : undefined
}

/** Of two rows of one name the larger numbers: to poll once too often costs less than to take mail for read. */
function larger(a: PersonaCount | undefined, b: PersonaCount): PersonaCount {
  if (a === undefined) return b
  const urgent = [a.unreadUrgent, b.unreadUrgent].filter(one => one !== undefined)
  return {
    unread: Math.max(a.unread, b.unread),
    unreadUrgent: urgent.length === 0 ? undefined : Math.max(...urgent),
  }
}

/** Judges an answer of `/api/notify/pending` (KS-13 to KS-15). */
export function judgeCounts(value: unknown): BodyResult<UnreadCounts> {
  const answer = resultOf(value)
  if (!answer.ok) return answer
  const byPersona = new Map<string, PersonaCount>()
  const refused = new RefusedNames()
  for (const row of answer.value.result) {
    const persona = isMembers(row) ? row['persona'] : undefined
    if (!isMembers(row) || !isPersonaName(persona)) {
      refused.add(persona)
      continue
    }
    const { unread, unread_urgent: urgent } = row
    const count = { unread: isCount(unread) ? unread : 0, unreadUrgent: isCount(urgent) ? urgent : undefined }
    byPersona.set(persona, larger(byPersona.get(persona), count))
  }
  return {
    ok: true,
    value: { byPersona, cursor: cursorOf(answer.value.body['cursor']), refused: refused.list() },
  }
}
