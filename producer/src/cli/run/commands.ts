import type { Command } from '@kim/cli-kit'
import { jsonFlag, storeFlag } from '../store-flags.js'
import { runFlags } from './flags.js'

/** The service. */
export const runCommands: readonly Command[] = [
  {
    name: 'run',
    about:
      'Follow the inboxes of a Kijito and append what happens there to the journal, until it is told to stop.',
    flags: runFlags,
    examples: [
      ['kim-producer run', 'follow every inbox of the local Kijito'],
      [
        'kim-producer run --url https://api.kijito.ai --token-file ~/.config/kim/token -p river',
        'one hosted inbox',
      ],
    ],
    load: () => import('./run.js'),
  },
  {
    name: 'status',
    about:
      'What is still to come, what runs, what passes it on and who is behind; each told with nothing running too.',
    flags: [storeFlag, jsonFlag],
    load: () => import('../status/status.js'),
  },
  {
    name: 'poke',
    about: 'Make a running producer poll now, every inbox or one.',
    flags: [
      storeFlag,
      { name: 'persona', short: 'p', kind: 'string', value: 'P', about: 'this inbox alone' },
      jsonFlag,
    ],
    load: () => import('./poke.js'),
  },
  {
    name: 'shutdown',
    about: 'Ask a running producer to stop, and wait until it has let go of the store.',
    flags: [storeFlag, jsonFlag],
    load: () => import('./shutdown.js'),
  },
]
