import { type Flag, flag } from '@kim/cli-kit'

/** Flags that say which journal, for every command that reads one. */
export const STORE_FLAGS: readonly Flag[] = [
  {
    name: 'store',
    kind: 'path',
    value: 'DIR',
    env: 'KIM_STORE',
    about: 'read this store (default: ~/.local/state/kim/stores/default, or below $XDG_STATE_HOME)',
  },
  flag('path', 'events', 'DIR', 'read this events directory, or a copy of one, without its store'),
]

/** `--json`, for commands that print a summary for people otherwise. */
export const JSON_FLAG: Flag = { name: 'json', kind: 'boolean', about: 'print JSON' }

/** `--utc`, for commands that print times. */
export const UTC_FLAG: Flag = { name: 'utc', kind: 'boolean', about: 'print times in UTC' }

/** The persona or personas a command is about. */
export const PERSONA_FLAG: Flag = {
  name: 'persona',
  short: 'p',
  kind: 'string',
  many: true,
  value: 'NAME',
  env: 'KIM_PERSONA',
  about: 'select records about this persona (exact case)',
}

const SELECT: readonly Flag[] = [
  { ...PERSONA_FLAG, topic: 'Journal and personas' },
  { name: 'all-personas', kind: 'boolean', about: 'select every persona; ignore $KIM_PERSONA' },
  ...STORE_FLAGS,
]

const FILTER: readonly Flag[] = [
  {
    topic: 'Which records',
    name: 'wake',
    kind: 'boolean',
    about: 'select events that wake an agent: new mail and diagnostics, not armed or heartbeat',
  },
  {
    name: 'type',
    short: 't',
    kind: 'string',
    many: true,
    value: 'GLOB',
    about:
      'select these types, such as message.new or alert.*; message alone selects every message; add --all-records for changes and notes, such as message.update',
  },
  { name: 'exclude-type', kind: 'string', many: true, value: 'GLOB', about: 'leave out these types' },
  { name: 'from', kind: 'string', many: true, value: 'SENDER', about: 'select messages from this sender' },
  flag('string', 'grep', 'RE', 'select records that match; an all-lower-case RE ignores case', {
    short: 'g',
  }),
  { name: 'case-sensitive', kind: 'boolean', about: 'match the case of patterns exactly' },
  { name: 'urgent', kind: 'boolean', about: 'select urgent messages' },
  {
    name: 'all-records',
    kind: 'boolean',
    about: 'print every record, also changes such as "was read" and notes',
  },
]

const POSITION: readonly Flag[] = [
  {
    topic: 'Where to begin and to end',
    name: 'lines',
    short: 'n',
    kind: 'string',
    value: 'N|all',
    about: 'print the last N entries (10 if no position is given); an entry is an event or a message',
  },
  flag('string', 'since', 'T', 'begin at this time: 15m (before now), today, 2026-06-10 14:30', {
    short: 'S',
  }),
  { name: 'until', short: 'U', kind: 'string', value: 'T', about: 'end at this time' },
  { name: 'after-seq', kind: 'integer', min: 0, value: 'N', about: 'begin after the record with seq N' },
  { name: 'from-seq', kind: 'integer', min: 1, value: 'N', about: 'begin with the record with seq N' },
  { name: 'to-seq', kind: 'integer', min: 0, value: 'N', about: 'end with the record with seq N' },
  flag('string', 'after-id', 'ID', 'begin after this event id, or with one -p after this message number'),
  { name: 'cursor', kind: 'string', value: 'TOKEN', about: 'begin with the record of this token' },
  { name: 'after-cursor', kind: 'string', value: 'TOKEN', about: 'begin after the record of this token' },
  {
    name: 'show-cursor',
    kind: 'boolean',
    about: 'print a cursor token at the end; continue from it with --after-cursor',
  },
  flag(
    'path',
    'cursor-file',
    'FILE',
    'begin after the token in FILE (with new records if there is no FILE), and keep FILE up to date',
  ),
]

const CONSUMER: readonly Flag[] = [
  flag('string', 'consumer', 'NAME', 'save a cursor under this name, and continue there next time', {
    topic: 'Consumer',
  }),
  {
    name: 'commit',
    kind: 'string',
    choices: ['emit', 'ack', 'never'],
    default: 'emit',
    value: 'WHEN',
    about: 'move the cursor when a record is printed (emit), on "kim-tail ack" (ack), or never',
  },
  {
    name: 'start',
    kind: 'string',
    choices: ['new', 'earliest', 'fail'],
    default: 'new',
    value: 'WHERE',
    about: 'choose where a consumer without a cursor begins; fail: exit 1',
  },
  {
    name: 'on-gap',
    kind: 'string',
    choices: ['report', 'fail', 'ignore'],
    default: 'report',
    value: 'WHAT',
    about: 'choose what to do when records are missing; fail: exit 5',
  },
]

const FOLLOW: readonly Flag[] = [
  {
    topic: 'Following',
    name: 'follow',
    short: 'f',
    kind: 'boolean',
    about: 'wait for new records and print them',
  },
  { name: 'retry', short: 'F', kind: 'boolean', about: 'same as --follow, which retries by itself' },
  { name: 'caught-up', kind: 'boolean', about: 'report once when all existing records are printed' },
  flag(
    'duration',
    'heartbeat',
    'DUR',
    'print a heartbeat line each DUR (an empty line unless -o is short, agent or monitor)',
    { min: 1 },
  ),
  {
    name: 'exit-with-parent',
    kind: 'boolean',
    about: 'end when the parent process ends (always on with -o agent)',
  },
]

const STOP: readonly Flag[] = [
  {
    topic: 'When to end',
    name: 'count',
    short: 'c',
    kind: 'integer',
    min: 0,
    value: 'N',
    about: 'end after N records',
  },
  { name: 'wait', kind: 'boolean', about: 'print the next record, then end; in a loop, with --consumer' },
  { name: 'until-match', kind: 'string', value: 'RE', about: 'end after a record that matches' },
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
]

/** What can begin a path of `--fields` and `--template`: a member of a record, or a value made from it (CL-72). */
export const FIELD_NAMES: readonly string[] = (
  'seq ts id type persona from text wake nonce payload v writer agent action item_type item_id entity_rev summary ' +
  'payload_ref event key actor clock tx'
).split(' ')

/** The names that are of use most often. */
export const FIELD_HINT =
  'names: seq, ts, id, type, persona, from, text, wake (mail, diagnostic or liveness), nonce (a hash of id), or payload.X (see: kim-tail schema record)'

const OUTPUT: readonly Flag[] = [
  {
    topic: 'Output',
    name: 'output',
    short: 'o',
    kind: 'string',
    choices: ['short', 'short-iso', 'json', 'json-pretty', 'cat', 'agent', 'monitor', 'cloudevents'],
    value: 'MODE',
    about: 'choose how to print a record (default: short on a terminal, else json; agent with KIM_AGENT=1)',
  },
  {
    name: 'fields',
    kind: 'string',
    many: true,
    value: 'a,b.c',
    about: `print only these values: as an object in json, else separated by tabs; ${FIELD_HINT}`,
  },
  flag('string', 'template', 'STR', 'print each record by a pattern of such values: "{seq} {from}: {text}"'),
  flag('integer', 'max-line', 'N', 'limit an agent line to N characters (default: 480)', { min: 120 }),
  {
    name: 'no-body',
    kind: 'boolean',
    about: 'leave out message bodies (short, cat, agent, monitor, --exec)',
  },
  flag('integer', 'body-chars', 'N', 'cut bodies to N characters (default with -o monitor and --exec: 220)', {
    min: 0,
  }),
  {
    name: 'full',
    kind: 'boolean',
    about: 'print whole texts on a terminal, over several lines (otherwise they are cut to its width)',
  },
  { name: 'prefix', kind: 'boolean', about: 'print the persona on each line, even if there is only one' },
  UTC_FLAG,
  { name: 'color', kind: 'string', choices: ['auto', 'always', 'never'], value: 'WHEN', about: 'use colour' },
  { name: 'no-color', kind: 'boolean', about: 'same as --color never' },
  { name: 'quiet', short: 'q', kind: 'boolean', about: 'print only errors on stderr' },
]

const ACT: readonly Flag[] = [
  {
    topic: 'Command for each event',
    name: 'exec',
    kind: 'string',
    value: 'CMD',
    about:
      'run CMD for each event, given in $KIJITOMON_EVENT, _FROM, _CONTENT and others (text cut to 220 characters: --body-chars); exit 0 acknowledges; any other end, or 10 s, means a retry (needs --consumer)',
  },
  flag(
    'integer',
    'max-attempts',
    'N',
    'skip an event after N failed tries of CMD, with an error and a count (without it, mail is held until CMD exits with 0; other events are skipped after 5 tries, armed, heartbeat and recovered after 1)',
    { min: 1 },
  ),
]

/** The flags of the command itself. */
export const TAIL_FLAGS: readonly Flag[] = [
  ...SELECT,
  ...FILTER,
  ...POSITION,
  ...CONSUMER,
  ...FOLLOW,
  ...STOP,
  ...OUTPUT,
  ...ACT,
]
