import { basename, dirname, join } from 'node:path'
import {
  eventsPaths,
  isMisnamedSegment,
  KimError,
  parseSegmentName,
  parseTempName,
  safeText,
  storePaths,
} from '@kim/manifest'
import { listEntries } from './read-only-fs.js'

/**
 * Why no journal can be read at a path, as the error `no_store` with what may have been meant; undefined where one
 * stands or may yet come to be, which an empty directory is. What cannot be listed is not judged.
 */
export function noJournalAt(eventsDir: string): KimError | undefined {
  const path = safeText(eventsDir)
  const listed = listEntries(eventsDir)
  if (!listed.ok) {
    if (listed.code === 'ENOENT') return refusal(`there is no journal at ${path}`, beside(eventsDir))
    if (listed.code === 'ENOTDIR') return refusal(`${path} is not a directory`, around(eventsDir))
    return undefined
  }
  const names = listed.value.map(({ name }) => name)
  if (names.length === 0 || names.some(name => isOurs(eventsDir, name))) return undefined
  const inner = storePaths(eventsDir).events
  const hint = names.includes(basename(inner))
    ? `this looks like a store; did you mean --events ${safeText(inner)}?`
    : 'it holds no segment, checkpoint or archive; name the events directory of a store'
  return refusal(`${path} is not a journal`, hint)
}

function refusal(message: string, hint: string | undefined): KimError {
  return new KimError('no_store', message, hint === undefined ? {} : { hint })
}

/** Whether a name is one that only a journal's directory holds. */
function isOurs(eventsDir: string, name: string): boolean {
  const path = join(eventsDir, name)
  const { archive, blobs, checkpoints, meta, quarantine } = eventsPaths(eventsDir)
  return (
    parseSegmentName(parseTempName(name) ?? name) !== undefined ||
    isMisnamedSegment(name) ||
    [archive, blobs, checkpoints, meta, quarantine].includes(path)
  )
}

/** An events directory that was taken for the store around it. */
function beside(eventsDir: string): string | undefined {
  const parent = dirname(eventsDir)
  const listed = listEntries(parent)
  const isEvents = listed.ok && listed.value.some(({ name }) => parseSegmentName(name) !== undefined)
  return isEvents
    ? `the directory above is an events directory, so use: --events ${safeText(parent)}`
    : undefined
}

/** A file of a journal that was taken for its directory. */
function around(path: string): string {
  if (parseSegmentName(basename(path)) === undefined)
    return 'name the directory that holds the segments (seg-*.jsonl)'
  return `this is a segment; did you mean --events ${safeText(dirname(path))}?`
}
