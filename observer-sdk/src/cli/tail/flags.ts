import type { Flag } from '@kim/cli-kit'

/** Flags that say which journal, for every command that reads one. */
export const STORE_FLAGS: readonly Flag[] = [
  {
    name: 'store',
    kind: 'path',
    value: 'DIR',
    env: 'KIM_STORE',
    about: 'the store to read (default: the state directory)',
  },
  {
    name: 'events',
    kind: 'path',
    value: 'DIR',
    about: 'an events directory, alone if that is all there is',
  },
]

/** `--json`, for commands that print a summary for people otherwise. */
export const JSON_FLAG: Flag = { name: 'json', kind: 'boolean', about: 'print JSON' }

/** `--utc`, for commands that print times. */
export const UTC_FLAG: Flag = { name: 'utc', kind: 'boolean', about: 'tell times in UTC' }

/** The persona or personas a command is about. */
export const PERSONA_FLAG: Flag = {
  name: 'persona',
  short: 'p',
  kind: 'string',
  many: true,
  value: 'NAME',
  env: 'KIM_PERSONA',
  about: 'only what concerns this persona, in exact case',
}

const SELECT: readonly Flag[] = [
  PERSONA_FLAG,
  { name: 'all-personas', kind: 'boolean', about: 'every persona, whatever $KIM_PERSONA says' },
  ...STORE_FLAGS,
]

const FILTER: readonly Flag[] = [
  { name: 'wake', kind: 'boolean', about: 'only news that wakes: mail and diagnostics, no signs of life' },
  {
    name: 'type',
    short: 't',
    kind: 'string',
    many: true,
    value: 'GLOB',
    about: 'only these types: message.new, alert.*, message',
  },
  { name: 'exclude-type', kind: 'string', many: true, value: 'GLOB', about: 'not these types' },
  { name: 'from', kind: 'string', many: true, value: 'SENDER', about: 'only messages by this sender' },
  {
    name: 'grep',
    short: 'g',
    kind: 'string',
    value: 'RE',
    about: 'only what matches; lower case ignores case',
  },
  { name: 'case-sensitive', kind: 'boolean', about: 'patterns mean the case they are written in' },
  { name: 'urgent', kind: 'boolean', about: 'only what is urgent' },
  { name: 'all-records', kind: 'boolean', about: 'every record, read marks and notes included' },
]

const POSITION: readonly Flag[] = [
  {
    name: 'lines',
    short: 'n',
    kind: 'string',
    value: 'N|all',
    about: 'the last N (10 unless a position is given)',
  },
  { name: 'no-tail', kind: 'boolean', about: 'same as -n all' },
  {
    name: 'since',
    short: 'S',
    kind: 'string',
    value: 'T',
    about: 'from this time on: 15m, today, 2026-06-10 14:30',
  },
  { name: 'until', short: 'U', kind: 'string', value: 'T', about: 'up to this time' },
  { name: 'after-seq', kind: 'integer', min: 0, value: 'N', about: 'what stands after the record N' },
  { name: 'from-seq', kind: 'integer', min: 1, value: 'N', about: 'the record N and what stands after it' },
  { name: 'to-seq', kind: 'integer', min: 0, value: 'N', about: 'nothing above the record N' },
  { name: 'after-id', kind: 'string', value: 'ID', about: "after this event id, or this message's number" },
  { name: 'cursor', kind: 'string', value: 'TOKEN', about: 'from the record of this token on' },
  { name: 'after-cursor', kind: 'string', value: 'TOKEN', about: 'after the record of this token' },
  { name: 'show-cursor', kind: 'boolean', about: 'print a token for what was read, at the end' },
  {
    name: 'cursor-file',
    kind: 'path',
    value: 'FILE',
    about: 'begin at the token in a file, keep it up to date',
  },
]

const CONSUMER: readonly Flag[] = [
  { name: 'consumer', kind: 'string', value: 'NAME', about: 'a durable cursor under this name' },
  {
    name: 'commit',
    kind: 'string',
    choices: ['emit', 'ack', 'never'],
    default: 'emit',
    value: 'WHEN',
    about: 'when the cursor moves: printed, acknowledged by "kim-tail ack", or not at all',
  },
  {
    name: 'start',
    kind: 'string',
    choices: ['new', 'earliest', 'fail'],
    default: 'new',
    value: 'WHERE',
    about: 'where a consumer without a cursor begins',
  },
  {
    name: 'on-gap',
    kind: 'string',
    choices: ['report', 'fail', 'ignore'],
    default: 'report',
    value: 'WHAT',
    about: 'what to do when records are gone',
  },
]

const FOLLOW: readonly Flag[] = [
  { name: 'follow', short: 'f', kind: 'boolean', about: 'go on with what comes' },
  { name: 'retry', short: 'F', kind: 'boolean', about: 'same as --follow, which never gives up' },
  { name: 'caught-up', kind: 'boolean', about: 'say once when everything that stood there is printed' },
  {
    name: 'heartbeat',
    kind: 'duration',
    min: 1,
    value: 'DUR',
    about: 'a line every so often while nothing comes',
  },
  {
    name: 'exit-with-parent',
    kind: 'boolean',
    about: 'end when the parent process ends (always in agent mode)',
  },
]

const STOP: readonly Flag[] = [
  { name: 'count', short: 'c', kind: 'integer', min: 0, value: 'N', about: 'end after N records' },
  { name: 'wait', kind: 'boolean', about: 'wait for the next record: -f -c 1; in a loop, with --consumer' },
  { name: 'until-match', kind: 'string', value: 'RE', about: 'end after a record that matches' },
  { name: 'timeout', kind: 'duration', min: 1, value: 'DUR', about: 'end when nothing came for so long' },
  { name: 'deadline', kind: 'duration', min: 1, value: 'DUR', about: 'end after so long' },
  { name: 'max-rate', kind: 'string', value: 'N/DUR', about: 'at most so many lines; the rest is counted' },
]

const OUTPUT: readonly Flag[] = [
  {
    name: 'output',
    short: 'o',
    kind: 'string',
    choices: ['short', 'short-iso', 'json', 'json-pretty', 'cat', 'agent', 'monitor', 'cloudevents'],
    value: 'MODE',
    about: 'how a record is printed (short on a terminal, json elsewhere, agent with KIM_AGENT=1)',
  },
  {
    name: 'fields',
    kind: 'string',
    many: true,
    value: 'a,b.c',
    about: 'only these values: an object in json, else tabs',
  },
  { name: 'template', kind: 'string', value: 'STR', about: 'a pattern: "{seq} {from}: {text}"' },
  { name: 'max-line', kind: 'integer', min: 120, value: 'N', about: 'characters of an agent line (480)' },
  { name: 'no-body', kind: 'boolean', about: 'leave bodies out' },
  {
    name: 'body-chars',
    kind: 'integer',
    min: 0,
    value: 'N',
    about: 'cut bodies to N code points (220 in monitor)',
  },
  { name: 'prefix', kind: 'boolean', about: 'name the persona on each line, also if there is only one' },
  UTC_FLAG,
  { name: 'color', kind: 'string', choices: ['auto', 'always', 'never'], value: 'WHEN', about: 'colour' },
  { name: 'no-color', kind: 'boolean', about: 'same as --color never' },
  { name: 'quiet', short: 'q', kind: 'boolean', about: 'say nothing on stderr but errors' },
  { name: 'no-pager', kind: 'boolean', about: 'taken for compatibility: there never is one' },
]

const ACT: readonly Flag[] = [
  {
    name: 'exec',
    kind: 'string',
    value: 'CMD',
    about: 'run CMD for each event; exit 0 acknowledges (needs --consumer)',
  },
  {
    name: 'max-attempts',
    kind: 'integer',
    min: 1,
    value: 'N',
    about: 'skip an event after N failed tries (default: try mail until CMD takes it)',
  },
  {
    name: 'on-poison',
    kind: 'string',
    default: 'hold',
    value: 'POLICY',
    about: 'as --max-attempts: hold, or "skip-after N"',
  },
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
