import { completionCommand, type Flag, flag, type Program, toggle, VERSION } from '@kim/cli-kit'
import { REDACT_MODES } from '../redactor.js'

/** What every command that reads a journal takes. */
const replaySourceFlags: readonly Flag[] = [
  flag('path', 'events', 'DIR', 'read this events directory, or a copy of one'),
  flag(
    'path',
    'store',
    'DIR',
    'if no --events is given, read this store (default: ~/.local/state/kim/stores/default, or below $XDG_STATE_HOME)',
    { env: 'KIM_STORE' },
  ),
]

const replayJsonFlag: Flag = toggle('json', 'print one JSON object')

const reportJsonFlag: Flag = { ...replayJsonFlag, about: 'say what was written as one JSON object' }

const personaFlag: Flag = flag('string', 'persona', 'NAME', 'select these personas', {
  short: 'p',
  many: true,
})

const utcFlag: Flag = toggle('utc', 'read times without a zone as UTC, not as local time')

/** The forms that a command can print in, text first. */
function outputFlag(...forms: readonly string[]): Flag {
  return flag('string', 'output', 'FORM', `choose the output format: ${forms.join(', ')}`, {
    short: 'o',
    choices: forms,
  })
}

/** The part of a journal that a command reads. */
const seqRange: readonly Flag[] = [
  flag('integer', 'from-seq', 'N', 'begin with the first record with a seq of at least N', { min: 1 }),
  flag('integer', 'to-seq', 'N', 'end before the first record with a seq above N', { min: 1 }),
]

const redact: Flag = {
  name: 'redact',
  kind: 'string',
  choices: REDACT_MODES,
  default: 'bodies',
  about:
    "remove message texts (bodies); also replace names by p1, p2 … (all; message numbers, times and the journal's id stay); or keep everything (none)",
}

/** `kim-replay`: what a copied journal says, from its files alone. */
export const replayProgram: Program = {
  name: 'kim-replay',
  version: VERSION,
  about:
    'Answer questions about a journal from its files alone. Needs no token and no network, and never writes to the journal.',
  commands: [
    {
      name: 'digest',
      about: 'Print a digest of the final state of a journal. Two readers that agree print the same digest.',
      flags: [
        ...replaySourceFlags,
        toggle(
          'full',
          'read every record and print all results, to compare with another reader (spec/observer-protocol.md)',
        ),
        toggle('cold', 'read only what an observer reads when it opens'),
        flag(
          'path',
          'cursor',
          'FILE',
          'with --full or --cold: begin as a consumer with this cursor, a JSON file {"checkpoint_seq":…,"seq":…,"writer":…}',
        ),
        replayJsonFlag,
      ],
      examples: [
        ['kim-replay digest --events ./copied/events', 'print digest, live entities and head on one line'],
      ],
      load: () => import('./digest.js'),
    },
    {
      name: 'verify',
      about: 'Check a journal or a bundle for damage. Exit 0 clean, 5 records missing, 6 corrupt.',
      positionals: [
        {
          name: 'BUNDLE',
          kind: 'path',
          about: 'a bundle to check instead of a journal, packed or unpacked',
          optional: true,
        },
      ],
      flags: [...replaySourceFlags, replayJsonFlag],
      load: () => import('./verify.js'),
    },
    {
      name: 'stats',
      about:
        'Count the segments, bytes, records by entity type and action, personas and checkpoints of a journal.',
      flags: [...replaySourceFlags, replayJsonFlag],
      load: () => import('./stats.js'),
    },
    {
      name: 'at',
      about:
        'Print the state of every persona as it was at one point in the journal (stale: up, but no record for an hour).',
      positionals: [
        {
          name: 'POINT',
          about: 'a seq, an event id, "end", or a time; 1h, "today" and 14:30 count from the newest record',
          optional: true,
        },
      ],
      flags: [
        ...replaySourceFlags,
        flag('integer', 'seq', 'N', 'same as POINT for a seq', { min: 0 }),
        flag('string', 'time', 'T', 'same as POINT for a time'),
        flag('string', 'event-id', 'E', 'same as POINT for an event id'),
        personaFlag,
        outputFlag('text', 'json'),
        replayJsonFlag,
        utcFlag,
      ],
      examples: [
        ['kim-replay at 2026-06-10T14:00:00Z --events ./events', 'show the state of each persona at 14:00'],
        [
          'kim-replay at river:new:246 --events ./events -p river -o json',
          'show the state when that message arrived',
        ],
      ],
      load: () => import('./at.js'),
    },
    {
      name: 'diff',
      about: 'Print what changed between two points in the journal, and which record changed it.',
      requires: '--from A --to B',
      flags: [
        ...replaySourceFlags,
        flag(
          'string',
          'from',
          'A',
          'begin at a seq, an event id, or a time; 2h, "today" and 14:30 count from the newest record',
        ),
        flag('string', 'to', 'B', 'end at a seq, a time, an event id, or "end"'),
        personaFlag,
        outputFlag('text', 'json', 'json-patch'),
        replayJsonFlag,
        utcFlag,
      ],
      examples: [
        ['kim-replay diff --events ./events --from 18000 --to end', 'print what changed since seq 18000'],
        [
          'kim-replay diff --events ./events --from 2h --to 1h -o json-patch',
          'print what changed from two hours to one hour before the newest record, for a program',
        ],
      ],
      load: () => import('./diff.js'),
    },
    {
      name: 'explain',
      about:
        'Explain why a message came late: when it was created, polled, appended, and seen as read and archived.',
      positionals: [{ name: 'EVENT', about: 'a seq, an event id such as river:new:246, or river/246' }],
      flags: [...replaySourceFlags, outputFlag('text', 'json'), replayJsonFlag],
      examples: [
        ['kim-replay explain river:new:246 --events ./events', 'explain why that message took four hours'],
      ],
      load: () => import('./explain.js'),
    },
    {
      name: 'find',
      about: 'Find the first record after which a condition over the state is true.',
      flags: [
        ...replaySourceFlags,
        flag('string', 'until', 'EXPR', 'find where this condition becomes true; see the paths below'),
        toggle('all', 'print every time it becomes true, and until when'),
        outputFlag('text', 'json'),
        replayJsonFlag,
      ],
      requires: '--until EXPR',
      notes: [
        'Paths:',
        '  seq  ts  entities  attention_required  registry_authoritative  damage',
        '    (attention_required: how many things wait for a person, urgent unread mail included;',
        '    registry_authoritative: the journal covers every persona that the producer watches;',
        '    damage: damaged places so far)',
        '  count.TYPE (live entities of the type)',
        '  persona.NAME.{known,unread,messages,newest,alerts,attention,unread_urgent,state}',
        '    (newest: the number of its newest message)',
        '  alert.NAME.KIND.{open,status,reason}',
        '  entity.TYPE.ID.{exists,seq,ts,agent,entity_rev,payload.…}',
        'compared by = != < <= > >= with numbers, "texts", true, false, null; combined by and, or, not, ( ).',
        'Put names with characters other than letters, digits, _ and - in double quotes: entity.message."river/246".exists',
      ],
      examples: [
        [
          'kim-replay find --events ./events --until "persona.river.unread > 10"',
          'find when unread mail began to pile up',
        ],
        [
          "kim-replay find --events ./events --all --until 'alert.river.unreachable.open'",
          'list every outage',
        ],
      ],
      load: () => import('./find.js'),
    },
    {
      name: 'play',
      about: 'Print the stored lines again at their original pace, to test a consumer.',
      flags: [
        ...replaySourceFlags,
        flag(
          'string',
          'speed',
          'SPEED',
          'choose the pace, such as 1x, 10x or max; step: print one line for each line on stdin',
          { default: '1x' },
        ),
        ...seqRange,
        personaFlag,
        flag('string', 'exec', 'CMD', 'run CMD for each line, with the line on its stdin'),
      ],
      examples: [
        ['kim-replay play --events ./events --speed max | my-consumer', 'print everything at once'],
        [
          'kim-replay play --events ./events --speed 10x -p river',
          'print one inbox at ten times the original pace',
        ],
      ],
      load: () => import('./play.js'),
    },
    {
      name: 'bundle',
      about:
        'Write a part of the journal into one file for a bug report. Removes message texts, unless --redact none.',
      requires: '--out F.tgz',
      flags: [
        ...replaySourceFlags,
        flag('path', 'out', 'F.tgz', 'write to this file, outside the store'),
        ...seqRange,
        redact,
        toggle('dry-run', 'print what would be written and write nothing'),
        reportJsonFlag,
      ],
      examples: [
        [
          'kim-replay bundle --events ./events --from-seq 18000 --out report.tgz',
          'make a bundle for a bug report',
        ],
        ['kim-replay verify report.tgz', 'check a bundle that you received'],
      ],
      load: () => import('./bundle.js'),
    },
    {
      name: 'timeline',
      about: 'Write a timeline into one file: a self-contained HTML page, Markdown, JSON or CSV.',
      requires: '--out F',
      flags: [
        ...replaySourceFlags,
        { ...outputFlag('html', 'md', 'json', 'csv'), default: 'html' },
        flag('path', 'out', 'F', 'write to this file, outside the store'),
        flag(
          'string',
          'since',
          'T',
          'begin at this time, such as 2026-06-10 14:30; 2h, "today" and 14:30 count from the newest record',
          { short: 'S' },
        ),
        flag('string', 'until', 'T', 'end at this time', { short: 'U' }),
        personaFlag,
        redact,
        flag('string', 'title', 'TEXT', 'use this title'),
        reportJsonFlag,
        utcFlag,
      ],
      examples: [
        [
          'kim-replay timeline --events ./events --out incident.html',
          'write a page to read, and to attach to a report',
        ],
      ],
      load: () => import('./timeline.js'),
    },
    completionCommand(() => replayProgram),
  ],
  exitCodes: [
    [0, 'ok'],
    [1, 'runtime error'],
    [2, 'usage'],
    [3, 'the condition is never true (find)'],
    [4, 'no journal, persona or record of that name'],
    [5, 'records are missing'],
    [6, 'corrupt'],
    [77, 'not permitted'],
  ],
}
