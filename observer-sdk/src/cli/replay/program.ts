import { type Command, completionCommand, type Program } from '@kim/cli-kit'
import { VERSION } from '../version.js'
import { events, json, output, persona, source, store, utc } from './flags.js'
import { redact } from './redact-mode-of.js'

/** What `find` takes, under both of its names. */
const finding: Pick<Command, 'flags' | 'notes' | 'examples' | 'load'> = {
  flags: [
    ...source,
    {
      name: 'until',
      kind: 'string',
      value: 'EXPR',
      about: 'a condition over the state, of the paths below',
    },
    { name: 'all', kind: 'boolean', about: 'every time it turns true, and until when' },
    output('text', 'json'),
    json,
  ],
  notes: [
    'Paths:',
    '  seq  ts  entities  attention_required  registry_authoritative  damage',
    '  count.TYPE',
    '  persona.NAME.{known,unread,messages,newest,alerts,attention,unread_urgent,state}',
    '  alert.NAME.KIND.{open,status,reason}',
    '  entity.TYPE.ID.{exists,seq,ts,agent,entity_rev,payload.…}',
    'compared by = != < <= > >= with numbers, "texts", true, false, null; combined by and, or, not, ( ).',
    'A name with other characters than letters, digits, _ and - stands in double quotes: entity.message."river/246".exists',
  ],
  examples: [
    [
      'kim-replay find --events ./events --until "persona.river.unread > 10"',
      'when the mail began to pile up',
    ],
    ["kim-replay find --events ./events --all --until 'alert.river.unreachable.open'", 'every outage'],
  ],
  load: () => import('./find.js'),
}

/** `kim-replay`: what a copied journal says, from its files alone. */
export const program: Program = {
  name: 'kim-replay',
  version: VERSION,
  about: 'Answers questions about a journal from its files alone: no token, no network, no write.',
  commands: [
    {
      name: 'digest',
      about: 'Print the digest of the state that a journal comes to: two readers that agree print the same.',
      flags: [
        events,
        store,
        {
          name: 'full',
          kind: 'boolean',
          about: 'scan everything and print all that a conformance vector expects',
        },
        { name: 'cold', kind: 'boolean', about: 'open as an observer does and print what that comes to' },
        { name: 'cursor', kind: 'path', value: 'FILE', about: 'a stored cursor to open with' },
        json,
      ],
      examples: [
        ['kim-replay digest --events ./copied/events', 'digest, live entities and head, on one line'],
      ],
      load: () => import('./digest.js'),
    },
    {
      name: 'verify',
      about: 'Judge a journal or a bundle from its bytes alone. Exit 0 clean, 5 holes, 6 corrupt.',
      positionals: [
        {
          name: 'BUNDLE',
          kind: 'path',
          about: 'a bundle, packed or unpacked, in place of a journal',
          optional: true,
        },
      ],
      flags: [events, store, json],
      load: () => import('./verify.js'),
    },
    {
      name: 'stats',
      about: 'Count what a journal holds: segments, bytes, records by type and verb, personas, checkpoints.',
      flags: [events, store, json],
      load: () => import('./stats.js'),
    },
    {
      name: 'at',
      about: 'Print the state of every persona at a moment: what was known then.',
      flags: [
        ...source,
        { name: 'seq', kind: 'integer', min: 0, value: 'N', about: 'before the first record above N' },
        { name: 'time', kind: 'string', value: 'T', about: 'after the last record that is not later than T' },
        { name: 'event-id', kind: 'string', value: 'E', about: 'when this event had its effect' },
        persona,
        output('text', 'json'),
        json,
        utc,
      ],
      examples: [
        ['kim-replay at --events ./events --time 2026-06-10T14:00:00Z', 'what each persona knew at two'],
        [
          'kim-replay at --events ./events --event-id river:new:246 -p river -o json',
          'when that message came in',
        ],
      ],
      load: () => import('./at.js'),
    },
    {
      name: 'diff',
      about: 'Print what changed between two moments, and which record changed it.',
      flags: [
        ...source,
        { name: 'from', kind: 'string', value: 'A', about: 'a seq, a time, an event id' },
        { name: 'to', kind: 'string', value: 'B', about: 'the same, or "end"' },
        persona,
        output('text', 'json', 'json-patch'),
        json,
        utc,
      ],
      examples: [
        ['kim-replay diff --events ./events --from 18000 --to end', 'what happened since seq 18000'],
        ['kim-replay diff --events ./events --from 2h --to 1h -o json-patch', 'for a program to apply'],
      ],
      load: () => import('./diff.js'),
    },
    {
      name: 'explain',
      about: "Tell one message's life: created, polled, appended, read, archived, and what stood in its way.",
      positionals: [{ name: 'EVENT', about: 'a seq, or an event id such as river:new:246' }],
      flags: [...source, output('text', 'json'), json],
      examples: [['kim-replay explain river:new:246 --events ./events', 'why that message took four hours']],
      load: () => import('./explain.js'),
    },
    {
      name: 'find',
      about: 'Find the first record with which a condition over the state turns true.',
      ...finding,
    },
    { name: 'bisect', about: 'The same as find.', ...finding },
    {
      name: 'play',
      about: 'Print the stored lines again, as far apart as they were, for trying a consumer.',
      flags: [
        ...source,
        {
          name: 'speed',
          kind: 'string',
          value: 'SPEED',
          default: '1x',
          about: 'such as 1x, 10x, max; step: one for each line on stdin',
        },
        { name: 'from-seq', kind: 'integer', min: 1, value: 'N', about: 'leave out what is below' },
        { name: 'to-seq', kind: 'integer', min: 1, value: 'N', about: 'end before the first record above' },
        persona,
        {
          name: 'exec',
          kind: 'string',
          value: 'CMD',
          about: 'run this for each line, which it gets on stdin',
        },
      ],
      examples: [
        ['kim-replay play --events ./events --speed max | my-consumer', 'everything, at once'],
        ['kim-replay play --events ./events --speed 10x -p river', 'one inbox, ten times as fast as it was'],
      ],
      load: () => import('./play.js'),
    },
    {
      name: 'bundle',
      about: 'Write a slice of the journal with a manifest, for a report; what people wrote is taken out.',
      flags: [
        ...source,
        { name: 'out', kind: 'path', value: 'F.tgz', about: 'the file to write, outside of the store' },
        {
          name: 'from-seq',
          kind: 'integer',
          min: 1,
          value: 'N',
          about: 'begin with the first record from N on',
        },
        { name: 'to-seq', kind: 'integer', min: 1, value: 'N', about: 'end before the first record above N' },
        redact,
        { name: 'dry-run', kind: 'boolean', about: 'say what would be written' },
        json,
      ],
      examples: [
        ['kim-replay bundle --events ./events --from-seq 18000 --out report.tgz', 'for somebody who helps'],
        ['kim-replay verify report.tgz', 'what that somebody runs first'],
      ],
      load: () => import('./bundle.js'),
    },
    {
      name: 'timeline',
      about: 'Write what happened as one file: a page that loads nothing, Markdown, JSON or CSV.',
      flags: [
        ...source,
        { ...output('html', 'md', 'json', 'csv'), default: 'html' },
        { name: 'out', kind: 'path', value: 'F', about: 'the file to write, outside of the store' },
        { name: 'since', short: 'S', kind: 'string', value: 'T', about: 'nothing before' },
        { name: 'until', short: 'U', kind: 'string', value: 'T', about: 'nothing after' },
        persona,
        redact,
        { name: 'title', kind: 'string', value: 'TEXT', about: 'what it is called' },
        json,
        utc,
      ],
      examples: [
        [
          'kim-replay timeline --events ./events --out incident.html',
          'to look at, and to attach to a report',
        ],
      ],
      load: () => import('./timeline.js'),
    },
    completionCommand(() => program),
  ],
  exitCodes: [
    [0, 'ok'],
    [1, 'runtime error'],
    [2, 'usage'],
    [3, 'never true (find)'],
    [4, 'no journal, persona or record of that name'],
    [5, 'records are missing'],
    [6, 'corrupt'],
    [77, 'not permitted'],
  ],
}
