import { limits } from '@kim/manifest'
import { unlistedName } from '../../core/unlisted-name.js'
import type { Answer, Directory, Failure } from '../../source/answer.js'
import { remedyOf } from '../../source/remedy.js'
import type { Source } from '../../source/source.js'
import type { Outcome } from './outcome.js'

/** Looks at the newest page of each selected inbox once; nothing is marked as read. */
export async function* tryInboxes(
  source: Source,
  selected: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<Outcome> {
  const personas = selected ?? (yield* everybody(source, signal))
  let directory: Promise<Answer<Directory>> | undefined
  for (const name of personas.slice(0, limits.personasMax)) {
    const answer = await source.page({ persona: name }, signal)
    const ms = answer.receivedMs - answer.sentMs
    if (!answer.ok) {
      yield failed(name, answer.failure, ms, source)
      continue
    }
    const { length } = answer.value.rows
    const found: Outcome = {
      part: 'inbox',
      name,
      ok: true,
      detail: `${length} ${length === 1 ? 'message' : 'messages'} shown`,
      ms,
    }
    // One that nobody knows answers as an empty one does (KS-92).
    if (length > 0 || selected === undefined) yield found
    else {
      directory ??= source.directory(signal)
      yield { ...found, ...doubts(name, await directory) }
    }
  }
}

function doubts(name: string, directory: Answer<Directory>): Pick<Outcome, 'warning' | 'hint'> {
  if (!directory.ok) return {}
  const listed = directory.value.entries.map(({ persona }) => persona)
  if (listed.includes(name)) return {}
  const { message, hint } = unlistedName(name, listed)
  return { warning: message, hint }
}

function failed(name: string, { reason }: Failure, ms: number, source: Source): Outcome {
  return { part: 'inbox', name, ok: false, detail: reason, ms, hint: remedyOf(reason, source) }
}

async function* everybody(source: Source, signal: AbortSignal): AsyncGenerator<Outcome, readonly string[]> {
  const answer = await source.directory(signal)
  if (answer.ok) return answer.value.entries.map(({ persona }) => persona)
  yield failed('the directory', answer.failure, answer.receivedMs - answer.sentMs, source)
  return []
}
