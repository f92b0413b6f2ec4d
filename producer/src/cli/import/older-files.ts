import { existsSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { olderFileName } from '../../sinks/file-names.js'
import { type Process, whoHasOpen } from './processes.js'

/** An event file that the older monitor wrote for a persona, and who follows it. */
export interface OlderEventFile {
  readonly path: string
  readonly followers: readonly Process[]
  /** Others than its owner may read it, which ends with the first line that is appended. */
  readonly isOpenToOthers: boolean
}

const OTHERS = 0o077

const PLACEHOLDER = '{persona}'

/** Where the older monitor put them, unless it was told otherwise. */
const USUAL = [
  ['.cache', 'kijito-inbox-monitor', `events.${PLACEHOLDER}.ndjson`],
  ['.kijito-monitor', `${PLACEHOLDER}.jsonl`],
  ['.local', 'state', 'kijito-inbox-monitor', `events.${PLACEHOLDER}.ndjson`],
]

/** The event files of a persona that are there: at the template that is named, else at the usual places. */
export function olderEventFiles(
  persona: string,
  home: string,
  template: string | undefined,
): OlderEventFile[] {
  const templates = template === undefined ? USUAL.map(parts => join(home, ...parts)) : [resolve(template)]
  return templates
    .map(path => path.replaceAll(PLACEHOLDER, olderFileName(persona)))
    .filter(path => existsSync(path))
    .map(path => ({
      path,
      followers: whoHasOpen(realpathSync(path)),
      isOpenToOthers: process.getuid !== undefined && (statSync(path).mode & OTHERS) !== 0,
    }))
}
