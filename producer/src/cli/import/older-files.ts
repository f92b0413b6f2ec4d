import { existsSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { olderFileName } from '../../sinks/file-sink.js'
import { type Process, whoHasOpen } from './processes.js'

/** An event file that the older monitor wrote for a persona, and who follows it. */
export interface OlderEventFile {
  readonly path: string
  /** The flag with which `run` goes on writing it, quoted. */
  readonly flag: string
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

/** True for a path that stands for one file of all inboxes. */
export function isForAll(eventsFile: string): boolean {
  return !eventsFile.includes(PLACEHOLDER)
}

/** The event files of a persona that are there: at the file or template that is named, else at the usual places. */
export function olderEventFiles(
  persona: string,
  home: string,
  eventsFile: string | undefined,
): OlderEventFile[] {
  const templates = eventsFile === undefined ? USUAL.map(parts => join(home, ...parts)) : [eventsFile]
  return templates
    .map(template => ({ template, path: template.replaceAll(PLACEHOLDER, olderFileName(persona)) }))
    .filter(({ path }) => existsSync(path))
    .map(({ template, path }) => ({
      path,
      flag: `${isForAll(template) ? '--events-file' : '--events-file-template'} ${shellWord(template)}`,
      followers: whoHasOpen(realpathSync(path)),
      isOpenToOthers: process.getuid !== undefined && (statSync(path).mode & OTHERS) !== 0,
    }))
}
