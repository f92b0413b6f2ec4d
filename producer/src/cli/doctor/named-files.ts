import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import type { SinkOptions } from '../run/sink-options.js'
import { accessError, nearestExisting } from './path-access.js'

/** What keeps a file from being written, and the command that mends it where there is one. */
export interface Obstacle {
  readonly why: string
  readonly remedy?: string
}

/** What keeps the files of events that the flags name from being written, found without making or opening one. */
export function filesInTheWay({ eventsFile, activityFile }: SinkOptions): Obstacle[] {
  const events = eventsFile === undefined ? undefined : (shut(eventsFile) ?? other(eventsFile))
  const activity = activityFile === undefined ? undefined : shut(activityFile)
  return [
    ...(events === undefined ? [] : [{ ...events, why: `${eventsFile}: ${events.why}` }]),
    ...(activity === undefined ? [] : [{ ...activity, why: `${activityFile}: ${activity.why}` }]),
  ]
}

/** What is appended to has one name and is no link (KS-87); a report is replaced where it stands, whatever that is. */
function other(path: string): Obstacle | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true) return { why: 'it is a symbolic link' }
  return stat?.isFile() === true && stat.nlink > 1
    ? { why: 'it has a second name (hard link), so it may be any file' }
    : undefined
}

function shut(path: string): Obstacle | undefined {
  const [fixed = path, ...rest] = path.split('{persona}')
  // A file per persona is not known by name yet; where all of them stand is.
  const place = nearestExisting(rest.length > 0 ? dirname(`${fixed}x`) : path)
  const stat = statSync(place)
  if (stat.isDirectory()) {
    if (place === path) return { why: 'it is a directory' }
    const why = accessError(place, 'wx')
    return why === undefined ? undefined : { why: `${place} is not writable: ${why}` }
  }
  if (place !== path) return { why: `${place} is not a directory` }
  if (!stat.isFile()) return { why: 'it is not a regular file' }
  const uid = process.getuid?.()
  const word = shellWord(path)
  if (uid !== undefined && stat.uid !== uid) {
    const why = `it belongs to user ${stat.uid}, not to user ${uid}`
    return { why, remedy: `name another file; or, if it is yours: sudo chown ${uid} ${word}` }
  }
  const why = accessError(path, 'w')
  return why === undefined ? undefined : { why: `it is not writable: ${why}`, remedy: `chmod 600 ${word}` }
}
