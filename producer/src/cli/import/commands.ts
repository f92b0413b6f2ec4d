import type { Command } from '@kim/cli-kit'
import { dryRunFlag, jsonFlag, storeFlag } from '../store-flags.js'

/** The way over from the monitor that was there before. */
export const importCommands: readonly Command[] = [
  {
    name: 'import',
    about:
      'Import the state of the older monitor, so that only mail after it is announced. Stop the monitor first.',
    flags: [
      {
        name: 'state-file',
        kind: 'path',
        many: true,
        commas: false,
        value: 'F',
        about: 'read this state file of the monitor; if it kept one per persona, the name that it was given',
      },
      {
        name: 'url',
        kind: 'string',
        value: 'URL',
        about: 'require that the files are about this server (default: the one they name)',
      },
      {
        name: 'events-file',
        kind: 'path',
        value: 'F',
        about: 'find the programs that still follow this event file of the monitor',
      },
      {
        name: 'events-file-template',
        kind: 'path',
        value: 'F',
        about:
          'same as --events-file, with one file per persona; F holds {persona} (default: the usual places)',
      },
      storeFlag,
      dryRunFlag,
      jsonFlag,
    ],
    examples: [
      ['kim-producer import --state-file ~/.kijito/hive.json --dry-run', 'print what would be imported'],
      ['kim-producer import --state-file hive.argus.json --state-file hive.river.json', 'import two inboxes'],
    ],
    load: () => import('./import.js'),
  },
]
