import { limits } from '@kim/manifest'
import { unlistedName } from '../../core/unlisted-name.js'
import type { Answer, PersonaDirectory, RequestFailure } from '../../source/answer.js'
import { remedyOf } from '../../source/remedy.js'
import type { Source } from '../../source/source.js'
import type { SelfTestResult } from './self-test-result.js'

/** Looks at the newest page of each selected inbox once; nothing is marked as read. */
export async function* tryInboxes(
  source: Source,
  selected: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<SelfTestResult> {
  const personas = selected ?? (yield* everybody(source, signal))
  let directory: Promise<Answer<PersonaDirectory>> | undefined
  for (const name of personas.slice(0, limits.personasMax)) {
    const answer = await source.page({ persona: name }, signal)
    const ms = answer.receivedMs - answer.sentMs
    if (!answer.ok) {
      yield failed(name, answer.failure, ms, source)
      continue
    }
    const { length } = answer.value.rows
    const found: SelfTestResult = {
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

function doubts(name: string, directory: Answer<PersonaDirectory>): Pick<SelfTestResult, 'warning' | 'hint'> {
  if (!directory.ok) return {}
  const listed = directory.value.entries.map(({ persona }) => persona)
  if (listed.includes(name)) return {}
  const { message, hint } = unlistedName(name, listed)
  return { warning: message, hint }
}

function failed(name: string, { reason }: RequestFailure, ms: number, source: Source): SelfTestResult {
  return { part: 'inbox', name, ok: false, detail: reason, ms, hint: remedyOf(reason, source) }
}

async function* everybody(
  source: Source,
  signal: AbortSignal,
): AsyncGenerator<SelfTestResult, readonly string[]> {
  const answer = await source.directory(signal)
  if (answer.ok) return answer.value.entries.map(({ persona }) => persona)
  yield failed('the directory', answer.failure, answer.receivedMs - answer.sentMs, source)
  return []
}
