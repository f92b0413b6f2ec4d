import type { Command, Flag } from '@kim/cli-kit'
import { dryRunFlag, eventsFlag, jsonFlag, storeFlag } from '../store-flags.js'

const readFlags: readonly Flag[] = [storeFlag, eventsFlag, jsonFlag]
const writeFlags: readonly Flag[] = [storeFlag, jsonFlag]

/** `kim-producer journal …`: each described here and loaded only when it is asked for. */
export const journalCommands: readonly Command[] = [
  {
    name: 'journal verify',
    about:
      'Check a journal for damage, with its archive. Reads only. Exit 0 clean, 5 records missing, 6 corrupt.',
    flags: readFlags,
    examples: [['kim-producer journal verify --events ./copied/events', 'check a copy']],
    load: () => import('./verify.js'),
  },
  {
    name: 'journal stats',
    about: 'Count the segments, bytes, records by type and verb, personas and checkpoints of a journal.',
    flags: readFlags,
    load: () => import('./stats.js'),
  },
  {
    name: 'journal checkpoint',
    about: 'Seal the active segment and write a checkpoint of all sealed segments.',
    flags: [...writeFlags, dryRunFlag],
    load: () => import('./checkpoint.js'),
  },
  {
    name: 'journal gc',
    about:
      'Move segments wholly below the second-newest verified checkpoint to archive/. Nothing is deleted.',
    flags: [
      ...writeFlags,
      dryRunFlag,
      { name: 'gzip', kind: 'boolean', about: 'compress the moved segments' },
    ],
    load: () => import('./gc.js'),
  },
  {
    name: 'journal repair',
    about:
      'Copy damaged bytes to quarantine/ and note them, so that appending can continue. Changes no record: a sealed segment whose bytes changed stays chain_broken.',
    flags: [...writeFlags, dryRunFlag],
    load: () => import('./repair.js'),
  },
  {
    name: 'journal redact',
    about: 'Erase the content of one entity everywhere in the store, with an audit note of what was erased.',
    flags: [
      ...writeFlags,
      dryRunFlag,
      {
        name: 'seq',
        kind: 'integer',
        min: 1,
        value: 'N',
        about: 'erase the entity of the record with seq N',
      },
      { name: 'entity', kind: 'boolean', about: 'erase the entity named by TYPE and ID' },
      { name: 'reason', kind: 'string', value: 'TEXT', about: 'state why; the note keeps this text' },
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
      { name: 'from-seq', kind: 'integer', min: 1, value: 'N', about: 'begin with the record with seq N' },
      { name: 'to-seq', kind: 'integer', min: 1, value: 'N', about: 'end with the record with seq N' },
      {
        name: 'persona',
        short: 'p',
        kind: 'string',
        many: true,
        value: 'NAME',
        about: 'select records about this persona',
      },
    ],
    load: () => import('./export.js'),
  },
]
