import type { Command } from '@kim/cli-kit'
import { dryRunFlag, jsonFlag, storeFlag } from '../store-flags.js'

/** The way over from the monitor that was there before. */
export const importCommands: readonly Command[] = [
  {
    name: 'import',
    about:
      'Take over from the older monitor: what it had told wakes nobody again, and everything after it is news. Stop it first.',
    flags: [
      {
        name: 'state-file',
        kind: 'path',
        many: true,
        commas: false,
        value: 'F',
        about: 'its state file; or the one it was given, which stands for one per persona',
      },
      {
        name: 'url',
        kind: 'string',
        value: 'URL',
        about: 'the server that the files must be about (default: the one they name)',
      },
      {
        name: 'events-file',
        kind: 'path',
        value: 'F',
        about: 'where it wrote the events of all inboxes, to tell who still follows them',
      },
      {
        name: 'events-file-template',
        kind: 'path',
        value: 'F',
        about: 'as --events-file, one file per persona; F holds {persona} (default: the usual places)',
      },
      storeFlag,
      dryRunFlag,
      jsonFlag,
    ],
    examples: [
      ['kim-producer import --state-file ~/.kijito/hive.json --dry-run', 'see what would be taken over'],
      ['kim-producer import --state-file hive.argus.json --state-file hive.river.json', 'two inboxes'],
    ],
    load: () => import('./import.js'),
  },
]
