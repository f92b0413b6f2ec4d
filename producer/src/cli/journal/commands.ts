import type { Command, Flag } from '@kim/cli-kit'
import { dryRunFlag, eventsFlag, jsonFlag, storeFlag } from '../store-flags.js'

const readFlags: readonly Flag[] = [storeFlag, eventsFlag, jsonFlag]
const writeFlags: readonly Flag[] = [storeFlag, jsonFlag]

/** `kim-producer journal …`: each described here and loaded only when it is asked for. */
export const journalCommands: readonly Command[] = [
  {
    name: 'journal verify',
    about:
      'Judge a journal from its bytes alone, archive included. Reads only; exit 0 clean, 5 holes, 6 corrupt.',
    flags: readFlags,
    examples: [['kim-producer journal verify --events ./copied/events', 'judge a copy']],
    load: () => import('./verify.js'),
  },
  {
    name: 'journal stats',
    about: 'Count what a journal holds: segments, bytes, records by type and verb, personas, checkpoints.',
    flags: readFlags,
    load: () => import('./stats.js'),
  },
  {
    name: 'journal checkpoint',
    about: 'Seal the segment in use and write a checkpoint of all that is sealed.',
    flags: [...writeFlags, dryRunFlag],
    load: () => import('./checkpoint.js'),
  },
  {
    name: 'journal gc',
    about:
      'Move segments wholly below the second-newest verified checkpoint to archive/. Nothing is deleted.',
    flags: [...writeFlags, dryRunFlag, { name: 'gzip', kind: 'boolean', about: 'pack what is moved' }],
    load: () => import('./gc.js'),
  },
  {
    name: 'journal repair',
    about:
      'Note what is damaged and copy it to quarantine/, so that appending can go on. No record is touched: a sealed segment whose bytes changed stays chain_broken.',
    flags: [...writeFlags, dryRunFlag],
    load: () => import('./repair.js'),
  },
  {
    name: 'journal redact',
    about: 'Erase the content of one entity everywhere in the store, with an audit note of what was erased.',
    flags: [
      ...writeFlags,
      dryRunFlag,
      { name: 'seq', kind: 'integer', min: 1, value: 'N', about: 'the entity that this record is about' },
      { name: 'entity', kind: 'boolean', about: 'the entity named by TYPE and ID' },
      { name: 'reason', kind: 'string', value: 'TEXT', about: 'why; it is kept in the note' },
    ],
    positionals: [
      { name: 'TYPE', about: 'item type, with --entity', optional: true },
      { name: 'ID', about: 'item id, with --entity', optional: true },
    ],
    examples: [
      ['kim-producer journal redact --entity message river/246 --reason "holds a key"', 'erase one message'],
    ],
    load: () => import('./redact.js'),
  },
  {
    name: 'journal export',
    about: 'Print the stored lines of all available segments, in file order, byte for byte.',
    flags: [
      storeFlag,
      { name: 'from-seq', kind: 'integer', min: 1, value: 'N', about: 'from this record on' },
      { name: 'to-seq', kind: 'integer', min: 1, value: 'N', about: 'up to this record' },
      {
        name: 'persona',
        short: 'p',
        kind: 'string',
        many: true,
        value: 'NAME',
        about: 'only what changes this persona',
      },
    ],
    load: () => import('./export.js'),
  },
]
