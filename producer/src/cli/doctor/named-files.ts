import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SinkOptions } from '../run/sink-options.js'
import { standing, whyClosed, whyUnwritable } from './standing-path.js'

/** What keeps the files of events that the flags name from being written, found without making or opening one. */
export function filesInTheWay({ eventsFile, activityFile }: SinkOptions): string[] {
  const events = eventsFile === undefined ? undefined : (whyShut(eventsFile) ?? whyOther(eventsFile))
  const activity = activityFile === undefined ? undefined : whyShut(activityFile)
  return [
    ...(events === undefined ? [] : [`${eventsFile}: ${events}`]),
    ...(activity === undefined ? [] : [`${activityFile}: ${activity}`]),
  ]
}

/** What is appended to has one name and is no link (KS-87); a report is replaced where it stands, whatever that is. */
function whyOther(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true) return 'it is a symbolic link'
  return stat?.isFile() === true && stat.nlink > 1
    ? 'it has another name besides, and may be anything'
    : undefined
}

function whyShut(path: string): string | undefined {
  const [fixed = path, ...rest] = path.split('{persona}')
  // A file per persona is not known by name yet; where all of them stand is.
  const place = standing(rest.length > 0 ? dirname(`${fixed}x`) : path)
  const stat = statSync(place)
  if (stat.isDirectory()) {
    if (place === path) return 'it is a directory'
    const why = whyClosed(place)
    return why === undefined ? undefined : `${place} cannot be written: ${why}`
  }
  if (place !== path) return `${place} is no directory`
  if (!stat.isFile()) return 'it is no regular file'
  const uid = process.getuid?.()
  if (uid !== undefined && stat.uid !== uid) return `it belongs to user ${stat.uid}, not to user ${uid}`
  const why = whyUnwritable(path)
  return why === undefined ? undefined : `it cannot be written: ${why}`
}
