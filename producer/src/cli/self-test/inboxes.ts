import { limits } from '@kim/manifest'
import type { Source } from '../../source/source.js'
import type { Outcome } from './outcome.js'

/** Looks at the newest page of each selected inbox once; nothing is marked as read. */
export async function* tryInboxes(
  source: Source,
  selected: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<Outcome> {
  const personas = selected ?? (yield* everybody(source, signal))
  for (const name of personas.slice(0, limits.personasMax)) {
    const answer = await source.page({ persona: name }, signal)
    const ms = answer.receivedMs - answer.sentMs
    yield answer.ok
      ? { part: 'inbox', name, ok: true, detail: `${answer.value.rows.length} messages shown`, ms }
      : { part: 'inbox', name, ok: false, detail: answer.failure.reason, ms }
  }
}

async function* everybody(source: Source, signal: AbortSignal): AsyncGenerator<Outcome, readonly string[]> {
  const answer = await source.directory(signal)
  if (answer.ok) return answer.value.entries.map(({ persona }) => persona)
  const ms = answer.receivedMs - answer.sentMs
  yield { part: 'inbox', name: 'the directory', ok: false, detail: answer.failure.reason, ms }
  return []
}
