import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { payloadOf } from '@kim/observer-sdk/history'
import type { JournalFacts } from '../record-line.js'
import { RecordLog } from './record-log.js'

/** The facts of a journal directory, each looked up when it is first asked for. */
export function createFacts(eventsDir: string, knownProjectId?: () => string | undefined): JournalFacts {
  let projectId: string | undefined
  return {
    projectId: () => {
      const known = knownProjectId?.()
      if (known !== undefined) return known
      projectId ??= findProjectId(eventsDir)
      return projectId
    },
    payloadOf: record => payloadOf(eventsDir, record),
  }
}

/** Whose journal it is: what the first live segment says that begins with a note naming the project. */
function findProjectId(eventsDir: string): string {
  const past = RecordLog.open(eventsDir)
  for (const segment of past?.segments ?? []) {
    const note = segment.place === 'live' ? past?.firstOf(segment)?.record : undefined
    const named = note?.action === 'journal_note' ? note.payload?.['project_id'] : undefined
    if (typeof named === 'string' && named !== '') return named
  }
  return createHash('sha256').update(realpathOr(eventsDir)).digest('hex')
}

function realpathOr(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
