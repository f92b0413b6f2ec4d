import { completionCommand, type Flag, flag, type Program, toggle, VERSION } from '@kim/cli-kit'
import { SERVICE_TARGETS } from '../os-service/supervisors.js'
import { olderFlags, runFlags } from './run/flags.js'
import { dryRunFlag, eventsFlag, jsonFlag, storeFlag } from './store-flags.js'

const serviceFlags: readonly Flag[] = [
  {
    name: 'target',
    kind: 'string',
    choices: ['auto', ...SERVICE_TARGETS],
    default: 'auto',
    about: 'choose the supervisor',
  },
  flag('string', 'name', 'NAME', 'name the service, if there are several'),
  dryRunFlag,
  jsonFlag,
]

const readFlags: readonly Flag[] = [storeFlag, eventsFlag, jsonFlag]
const writeFlags: readonly Flag[] = [storeFlag, jsonFlag, dryRunFlag]

/** `kim-producer`: the writer of a store, and the care of one. The code of a command is loaded when it is chosen. */
export const producerProgram: Program = {
  name: 'kim-producer',
  version: VERSION,
  about: 'Write the journal of Kijito inboxes, and maintain its store.',
  commands: [
    {
      name: 'run',
      about: 'Poll the inboxes of a Kijito server and append new mail to the journal, until stopped.',
      flags: runFlags,
      replaced: olderFlags,
      examples: [
        ['kim-producer run', 'follow every inbox of the local Kijito server'],
        [
          'kim-producer run --url https://api.kijito.ai --token-file ~/.config/kim/token -p river',
          'follow one inbox of the hosted server',
        ],
      ],
      load: () => import('./run/run.js'),
    },
    {
      name: 'status',
      about:
        'Show producer, backlog, sinks, consumers, inboxes and alerts. Works without a running producer.',
      flags: [storeFlag, toggle('check', 'exit 0 ok, 7 down, 8 unknown, 9 degraded (see level)'), jsonFlag],
      load: () => import('./status/status.js'),
    },
    {
      name: 'poke',
      about: 'Make a running producer poll now: every inbox, or those of -p.',
      flags: [
        storeFlag,
        flag('string', 'persona', 'P', 'poll only this inbox', { short: 'p', many: true }),
        jsonFlag,
      ],
      load: () => import('./running-producer.js').then(({ poke }) => ({ run: poke })),
    },
    {
      name: 'shutdown',
      about: 'Stop a running producer, and wait until it has released the store.',
      flags: [storeFlag, jsonFlag],
      load: () => import('./running-producer.js').then(({ shutdown }) => ({ run: shutdown })),
    },
    {
      name: 'install-service',
      about:
        'Install the producer as a user service that starts at login and after a crash. systemd does not restart it after a configuration error; launchd and Windows do. Takes the flags of run.',
      flags: [
        ...serviceFlags,
        toggle('print', 'print the service file and change nothing'),
        toggle('no-start', 'install the service, but start it at the next login'),
        toggle('linger', 'keep the service running when you are logged out (systemd)'),
        ...runFlags,
      ],
      examples: [
        ['kim-producer install-service --linger', 'follow every inbox of the local Kijito server'],
        ['kim-producer install-service --print --target launchd', 'print the launchd agent'],
      ],
      load: () => import('./install-service.js').then(({ installService }) => ({ run: installService })),
    },
    {
      name: 'uninstall-service',
      about: 'Stop the service and remove its file. Keeps the store.',
      flags: serviceFlags,
      load: () => import('./install-service.js').then(({ uninstallService }) => ({ run: uninstallService })),
    },
    {
      name: 'doctor',
      about:
        'Check for known problems and print how to correct each one. Changes nothing without --fix, and marks no mail as read. Takes the flags of run; without them, uses those of the installed service. Exit 1 if a check fails.',
      flags: [
        jsonFlag,
        toggle('fix', "correct the modes of the store's files and directories, and of the token file"),
        flag('string', 'only', 'CHECK', 'run only these checks', { many: true }),
        flag('string', 'name', 'NAME', 'check the service of this name'),
        ...runFlags,
      ],
      examples: [
        ['kim-producer doctor', 'run every check'],
        ['kim-producer doctor --only token,server', 'check only the connection to the server'],
      ],
      load: () => import('./doctor/doctor.js'),
    },
    {
      name: 'self-test',
      about:
        'Test the whole path once: poll each inbox, append to a temporary journal, wake a reader, send each sink a heartbeat (--exec runs CMD for it). Changes neither the store nor read marks. Takes the flags of run. Exit 1 if a step fails.',
      flags: [jsonFlag, ...runFlags],
      examples: [['kim-producer self-test -p river', 'test with one inbox of the local Kijito server']],
      load: () => import('./self-test.js'),
    },
    {
      name: 'import',
      about:
        'Import the state of the older monitor, so that the producer announces only mail that the monitor has not announced. Stop the monitor first.',
      requires: '--state-file F',
      flags: [
        flag(
          'path',
          'state-file',
          'F',
          "read this state file: the path that the older monitor's own --state-file names, also if it kept one file per persona",
          { many: true, commas: false },
        ),
        flag(
          'string',
          'persona',
          'P',
          'import the file about this inbox under this spelling, if only the case of the name changed since',
          { short: 'p', many: true },
        ),
        flag(
          'string',
          'url',
          'URL',
          'require that the files are about this server (default: the one they name)',
        ),
        flag(
          'path',
          'events-file',
          'F',
          'find the programs that still follow this event file of the monitor',
        ),
        flag(
          'path',
          'events-file-template',
          'F',
          'same as --events-file, with one file per persona; F contains {persona} (default: the usual places)',
        ),
        storeFlag,
        dryRunFlag,
        jsonFlag,
      ],
      examples: [
        ['kim-producer import --state-file ~/.kijito/hive.json --dry-run', 'print what would be imported'],
        [
          'kim-producer import --state-file hive.argus.json --state-file hive.river.json',
          'import two inboxes',
        ],
      ],
      load: () => import('./import/import.js'),
    },
    {
      name: 'journal verify',
      about:
        'Check a journal for damage, with its archive. Reads only. Exit 0 clean, 5 records missing, 6 corrupt.',
      flags: readFlags,
      examples: [['kim-producer journal verify --events ./copied/events', 'check a copy']],
      load: () => import('./journal-commands.js').then(({ journalVerify }) => ({ run: journalVerify })),
    },
    {
      name: 'journal stats',
      about:
        'Count the segments, bytes, records by entity type and action, personas and checkpoints of a journal.',
      flags: readFlags,
      load: () => import('./journal-commands.js').then(({ journalStats }) => ({ run: journalStats })),
    },
    {
      name: 'journal checkpoint',
      about:
        'Seal the active segment, write a checkpoint of all sealed segments, then do what journal gc does.',
      flags: writeFlags,
      load: () => import('./journal-commands.js').then(({ journalCheckpoint: run }) => ({ run })),
    },
    {
      name: 'journal gc',
      about:
        'Move segments to archive/ that the second-newest verified checkpoint covers completely. Deletes no record, and readers still find them.',
      flags: [...writeFlags, toggle('gzip', 'compress the moved segments')],
      load: () => import('./journal-commands.js').then(({ journalGc }) => ({ run: journalGc })),
    },
    {
      name: 'journal repair',
      about:
        'Copy damaged bytes, and move unusable files, to quarantine/ and note them, so that the producer can append again. Changes no record. Exit 1 if damage is left that no repair can undo, such as a changed sealed segment.',
      flags: writeFlags,
      load: () => import('./journal-commands.js').then(({ journalRepair }) => ({ run: journalRepair })),
    },
    {
      name: 'journal redact',
      about:
        'Erase the content of one entity everywhere in the store, with an audit note of what was erased.',
      requires: '(--seq N or --entity) --reason TEXT',
      flags: [
        ...writeFlags,
        flag('integer', 'seq', 'N', 'erase the entity of the record with seq N', { min: 1 }),
        toggle('entity', 'erase the entity named by TYPE and ID'),
        flag('string', 'reason', 'TEXT', 'state why; the note keeps this text'),
      ],
      positionals: [
        { name: 'TYPE', about: 'type of the entity, such as message (with --entity)', optional: true },
        { name: 'ID', about: 'id of the entity, such as river/246 (with --entity)', optional: true },
      ],
      examples: [
        [
          'kim-producer journal redact --entity message river/246 --reason "holds a key"',
          'erase one message',
        ],
      ],
      load: () => import('./journal-commands.js').then(({ journalRedact }) => ({ run: journalRedact })),
    },
    {
      name: 'journal export',
      about: 'Print the stored lines of all available segments, in file order, byte for byte.',
      flags: [
        storeFlag,
        flag('integer', 'from-seq', 'N', 'begin with the record with seq N', { min: 1 }),
        flag('integer', 'to-seq', 'N', 'end with the record with seq N', { min: 1 }),
        flag('string', 'persona', 'NAME', 'select records about this persona', { short: 'p', many: true }),
      ],
      load: () => import('./journal-commands.js').then(({ journalExport }) => ({ run: journalExport })),
    },
    completionCommand(() => producerProgram),
  ],
  exitCodes: [
    [0, 'ok'],
    [1, 'runtime error'],
    [2, 'usage or configuration'],
    [4, 'no such journal, store or persona'],
    [5, 'records are missing'],
    [6, 'corrupt'],
    [7, 'status --check: the producer is down'],
    [8, 'status --check: unknown'],
    [9, 'status --check: degraded'],
    [75, 'another process holds the store'],
    [77, 'not permitted'],
  ],
}
