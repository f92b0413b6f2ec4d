import type { Answered, Core } from './core.js'
import type { CoreState } from './core-state.js'

/** Statuses of an inbox that say that this configuration can never work. */
const FATAL = [401, 404]

/**
 * KS-51: only in a store that never armed a persona does an answer end the process: where the token is refused, or
 * where no selected inbox is there. Anything else may pass.
 */
export function verdictOf(core: CoreState, answered: Answered): Core['verdict'] {
  if (core.hasArmed || answered.answer.ok) return undefined
  // Where a list is watched, the directory is only looked at for names that may be mistyped.
  if (answered.kind === 'directory') {
    return core.mode === 'all' && answered.answer.failure.status === 401 ? refused : undefined
  }
  if (answered.kind === 'counts' || core.inboxes.size === 0) return undefined
  // One that answers 401 while another is not known yet may be that one's own trouble.
  const statuses = [...core.inboxes.values()].map(({ polls, lastStatus }) =>
    polls > 0 ? lastStatus : undefined,
  )
  if (!statuses.every(status => status !== undefined && FATAL.includes(status))) return undefined
  if (statuses.includes(401)) return refused
  return { code: 'no_such_persona', message: 'the server answers 404 for every selected persona' }
}

const refused: NonNullable<Core['verdict']> = {
  code: 'token_refused',
  message: 'the server answers 401: it does not accept the token',
}
