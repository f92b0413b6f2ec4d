import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { isJsonObject, type JsonObject, type ReadRecord } from '@kim/manifest'
import { readBlob } from '../../../store/blob-file.js'
import type { JournalFacts } from '../entry.js'
import { PastRecords } from './history.js'

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
    payloadOf: record => record.payload ?? blobPayload(eventsDir, record),
  }
}

/** A payload that stands in a blob; undefined if the blob is missing, damaged or no object. */
function blobPayload(eventsDir: string, record: ReadRecord): JsonObject | undefined {
  if (record.payload_ref === undefined) return undefined
  const blob = readBlob(eventsDir, record.payload_ref)
  if (!blob.ok) return undefined
  try {
    const value: unknown = JSON.parse(blob.value.toString('utf8'))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whose journal it is: what the first live segment says that begins with a note naming the project. */
function findProjectId(eventsDir: string): string {
  const past = PastRecords.open(eventsDir)
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
