import type { Command } from '@kim/cli-kit'
import { jsonFlag, storeFlag } from '../store-flags.js'
import { runFlags } from './flags.js'

/** The service. */
export const runCommands: readonly Command[] = [
  {
    name: 'run',
    about: 'Poll the inboxes of a Kijito server and append new mail to the journal, until stopped.',
    flags: runFlags,
    examples: [
      ['kim-producer run', 'follow every inbox of the local Kijito server'],
      [
        'kim-producer run --url https://api.kijito.ai --token-file ~/.config/kim/token -p river',
        'follow one inbox of the hosted server',
      ],
    ],
    load: () => import('./run.js'),
  },
  {
    name: 'status',
    about: 'Show backlog, producer, sinks and consumers. Works without a running producer.',
    flags: [storeFlag, jsonFlag],
    load: () => import('../status/status.js'),
  },
  {
    name: 'poke',
    about: 'Make a running producer poll now: every inbox, or one.',
    flags: [
      storeFlag,
      { name: 'persona', short: 'p', kind: 'string', value: 'P', about: 'poll only this inbox' },
      jsonFlag,
    ],
    load: () => import('./poke.js'),
  },
  {
    name: 'shutdown',
    about: 'Stop a running producer, and wait until it has released the store.',
    flags: [storeFlag, jsonFlag],
    load: () => import('./shutdown.js'),
  },
]
