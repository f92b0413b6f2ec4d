import { type Flag, flag, toggle } from '@kim/cli-kit'

/** Flags that say which journal, for every command that reads one. */
export const STORE_FLAGS: readonly Flag[] = [
  flag(
    'path',
    'store',
    'DIR',
    'read this store (default: ~/.local/state/kim/stores/default, or below $XDG_STATE_HOME)',
    { env: 'KIM_STORE' },
  ),
  flag('path', 'events', 'DIR', 'read this events directory, or a copy of one, without its store'),
]

/** `--json`, for commands that print a summary for people otherwise. */
export const JSON_FLAG: Flag = toggle('json', 'print JSON')

/** `--utc`, for commands that print times. */
export const UTC_FLAG: Flag = toggle('utc', 'print times in UTC')

/** The persona or personas a command is about. */
export const PERSONA_FLAG: Flag = flag(
  'string',
  'persona',
  'NAME',
  'select records about this persona (exact case)',
  { short: 'p', many: true, env: 'KIM_PERSONA' },
)

/** What can begin a path of `--fields` and `--template`: a member of a record, or a value made from it (CL-72). */
export const FIELD_NAMES: readonly string[] = (
  'seq ts id type persona from text wake nonce payload v writer agent action item_type item_id entity_rev summary ' +
  'payload_ref event key actor clock tx'
).split(' ')

/** The names that are of use most often. */
export const FIELD_HINT =
  'names: seq, ts, id, type, persona, from, text, wake (mail, diagnostic or liveness), nonce (a hash of id), or payload.X (see: kim-tail schema record)'

/** The output modes. */
export const MODES = [
  'short',
  'short-iso',
  'json',
  'json-pretty',
  'cat',
  'agent',
  'monitor',
  'cloudevents',
] as const

/** The flags of the command itself, by topic. */
export const TAIL_FLAGS: readonly Flag[] = [
  { ...PERSONA_FLAG, topic: 'Journal and personas' },
  toggle('all-personas', 'select every persona; ignore $KIM_PERSONA'),
  ...STORE_FLAGS,
  toggle('wake', 'select events that wake an agent: new mail and diagnostics, not armed or heartbeat', {
    topic: 'Which records',
  }),
  flag(
    'string',
    'type',
    'GLOB',
    'select these types, such as message.new or alert.*; message alone selects every message; add --all-records for changes and notes, such as message.update',
    { short: 't', many: true },
  ),
  flag('string', 'exclude-type', 'GLOB', 'leave out these types', { many: true }),
  flag('string', 'from', 'SENDER', 'select messages from this sender', { many: true }),
  flag('string', 'grep', 'RE', 'select records that match; an all-lower-case RE ignores case', {
    short: 'g',
  }),
  toggle('case-sensitive', 'match the case of patterns exactly'),
  toggle('urgent', 'select urgent messages'),
  toggle('all-records', 'print every record, also changes such as "was read" and notes'),
  flag(
    'string',
    'lines',
    'N|all',
    'print the last N entries (10 if no position is given); an entry is an event or a message',
    { topic: 'Where to begin and to end', short: 'n' },
  ),
  flag('string', 'since', 'T', 'begin at this time: 15m (before now), today, 2026-06-10 14:30', {
    short: 'S',
  }),
  flag('string', 'until', 'T', 'end at this time', { short: 'U' }),
  flag('integer', 'after-seq', 'N', 'begin after the record with seq N', { min: 0 }),
  flag('integer', 'from-seq', 'N', 'begin with the record with seq N', { min: 1 }),
  flag('integer', 'to-seq', 'N', 'end with the record with seq N', { min: 0 }),
  flag('string', 'after-id', 'ID', 'begin after this event id, or with one -p after this message number'),
  flag('string', 'cursor', 'TOKEN', 'begin with the record of this token'),
  flag('string', 'after-cursor', 'TOKEN', 'begin after the record of this token'),
  toggle('show-cursor', 'print a cursor token at the end; continue from it with --after-cursor'),
  flag(
    'path',
    'cursor-file',
    'FILE',
    'begin after the token in FILE (with new records if there is no FILE), and keep FILE up to date',
  ),
  flag('string', 'consumer', 'NAME', 'save a cursor under this name, and continue there next time', {
    topic: 'Consumer',
  }),
  flag(
    'string',
    'commit',
    'WHEN',
    'move the cursor when a record is printed (emit), on "kim-tail ack" (ack), or never',
    { choices: ['emit', 'ack', 'never'], default: 'emit' },
  ),
  flag('string', 'start', 'WHERE', 'choose where a consumer without a cursor begins; fail: exit 1', {
    choices: ['new', 'earliest', 'fail'],
    default: 'new',
  }),
  flag('string', 'on-gap', 'WHAT', 'choose what to do when records are missing; fail: exit 5', {
    choices: ['report', 'fail', 'ignore'],
    default: 'report',
  }),
  toggle('follow', 'wait for new records and print them', { topic: 'Following', short: 'f' }),
  toggle('retry', 'same as --follow, which retries by itself', { short: 'F' }),
  toggle('caught-up', 'report once when all existing records are printed'),
  flag(
    'duration',
    'heartbeat',
    'DUR',
    'print a heartbeat line each DUR (an empty line unless -o is short, agent or monitor)',
    { min: 1 },
  ),
  toggle('exit-with-parent', 'end when the parent process ends (always on with -o agent)'),
  flag('integer', 'count', 'N', 'end after N records', { topic: 'When to end', short: 'c', min: 0 }),
  toggle('wait', 'print the next record, then end; in a loop, with --consumer'),
  flag('string', 'until-match', 'RE', 'end after a record that matches'),
  flag(
    'duration',
    'timeout',
    'DUR',
    'end when no selected record came for DUR; exit 3 if none was printed, or if --count or --until-match was not met',
    { min: 1 },
  ),
  flag('duration', 'deadline', 'DUR', 'end after DUR in any case; exit codes as with --timeout', { min: 1 }),
  flag(
    'string',
    'max-rate',
    'N/DUR',
    'print at most N lines per DUR and skip the rest; a line says which (a consumer does not get them again)',
  ),
  flag(
    'string',
    'output',
    'MODE',
    'choose how to print a record (default: short on a terminal, else json; agent with KIM_AGENT=1)',
    {
      topic: 'Output',
      short: 'o',
      choices: MODES,
    },
  ),
  flag(
    'string',
    'fields',
    'a,b.c',
    `print only these values: as an object in json, else separated by tabs; ${FIELD_HINT}`,
    { many: true },
  ),
  flag('string', 'template', 'STR', 'print each record by a pattern of such values: "{seq} {from}: {text}"'),
  flag('integer', 'max-line', 'N', 'limit an agent line to N characters (default: 480)', { min: 120 }),
  toggle('no-body', 'leave out message bodies (short, cat, agent, monitor, --exec)'),
  flag('integer', 'body-chars', 'N', 'cut bodies to N characters (default with -o monitor and --exec: 220)', {
    min: 0,
  }),
  toggle('full', 'print whole texts on a terminal, over several lines (otherwise they are cut to its width)'),
  toggle('prefix', 'print the persona on each line, even if there is only one'),
  UTC_FLAG,
  flag('string', 'color', 'WHEN', 'use colour', { choices: ['auto', 'always', 'never'] }),
  toggle('no-color', 'same as --color never'),
  toggle('quiet', 'print only errors on stderr', { short: 'q' }),
  flag(
    'string',
    'exec',
    'CMD',
    'run CMD for each event, given in $KIJITOMON_EVENT, _FROM, _CONTENT and others (text cut to 220 characters: --body-chars); exit 0 acknowledges; any other end, or 10 s, means a retry (needs --consumer)',
    { topic: 'Command for each event' },
  ),
  flag(
    'integer',
    'max-attempts',
    'N',
    'skip an event after N failed tries of CMD, with an error and a count (without it, mail is held until CMD exits with 0; other events are skipped after 5 tries, armed, heartbeat and recovered after 1)',
    { min: 1 },
  ),
]
