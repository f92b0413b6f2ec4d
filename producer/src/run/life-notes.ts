import type { Host } from '../effects/host.js'
import type { Draft } from '../journal/draft.js'
import { journalNote } from '../journal/notes.js'

/** Says in the journal that a producer began to append. */
export function startedNote(version: string, host: Host): Draft {
  const { pid, node, platform } = host
  return journalNote('producer_started', { version, pid, node, platform }, `kim ${version} began to append`)
}

/** Says in the journal that it stopped of its own will. */
export function stoppedNote(reason: string): Draft {
  return journalNote('producer_stopped', { reason }, `stopped: ${reason}`)
}
