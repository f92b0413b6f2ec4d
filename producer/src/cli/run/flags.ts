import type { Flag } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import { storeFlag } from '../store-flags.js'

const DAY_SECONDS = 86_400

/** The server, and how to reach it. */
const serverFlags: readonly Flag[] = [
  {
    name: 'url',
    kind: 'string',
    value: 'URL',
    default: 'http://localhost:7474',
    about: 'poll the server with this base URL',
  },
  {
    name: 'dialect',
    kind: 'string',
    choices: ['local', 'hosted'],
    about: 'name the kind of server; required for a URL other than the two known ones',
  },
  {
    name: 'token-file',
    kind: 'path',
    value: 'F',
    about: 'read the token from F (else $KIM_TOKEN, else $KIJITOMON_TOKEN)',
  },
  {
    name: 'auth-header',
    kind: 'string',
    value: 'NAME',
    about: 'send the token in this header (default: Authorization: Bearer)',
  },
  { name: 'allow-loopback', kind: 'boolean', about: 'allow a server on this machine' },
  { name: 'allow-private', kind: 'boolean', about: 'allow a server on a private or link-local address' },
]

/** The inboxes. */
const personaFlags: readonly Flag[] = [
  {
    name: 'persona',
    short: 'p',
    kind: 'string',
    many: true,
    commas: false,
    value: 'P',
    about: 'follow this inbox (exact name, a comma is part of it); repeat for more',
  },
  {
    name: 'personas',
    kind: 'string',
    many: true,
    value: 'A,B',
    about: 'follow these inboxes; write a comma in a name as \\,',
  },
  { name: 'all-personas', kind: 'boolean', about: 'follow every inbox of the server (the default)' },
]

/** When to poll. */
const paceFlags: readonly Flag[] = [
  {
    name: 'wait',
    kind: 'integer',
    min: 0,
    max: DAY_SECONDS,
    default: 50,
    value: 'N',
    about: 'hold a long poll for N seconds; 0: no long poll',
  },
  {
    name: 'poll-seconds',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 60,
    value: 'N',
    about: 'poll every N seconds where counts cannot show new mail',
  },
  {
    name: 'alert-after',
    kind: 'integer',
    min: 1,
    default: 3,
    value: 'N',
    about: 'report an inbox as down after N failed polls',
  },
  {
    name: 'resync-every',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 10,
    value: 'N',
    about: 'poll each inbox at least every (N + 1) x --poll-seconds seconds',
  },
  {
    name: 'rediscover-every',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 600,
    value: 'N',
    about: 'look for new inboxes every N seconds',
  },
  {
    name: 'no-fast-path',
    kind: 'boolean',
    about: 'poll every inbox instead of asking for counts of unread mail',
  },
]

/** If more messages than this wait in an inbox at the first poll, none is announced (KS-34). */
export const MAX_REPLAY_DEFAULT = 50

/** What to record, and what to announce. */
const recordFlags: readonly Flag[] = [
  {
    name: 'seed-at',
    kind: 'integer',
    min: 0,
    value: 'ID',
    about: 'do not announce messages with id ≤ ID (exactly one --persona only)',
  },
  {
    name: 'max-replay',
    kind: 'integer',
    min: 0,
    default: MAX_REPLAY_DEFAULT,
    value: 'N',
    about: 'after a pause, announce waiting messages of an inbox only if there are at most N',
  },
  { name: 'no-content', kind: 'boolean', about: 'do not store message bodies' },
  {
    name: 'suppress-author',
    kind: 'string',
    many: true,
    commas: false,
    value: 'P',
    about: 'record messages from P, but do not announce them',
  },
  { name: 'no-stranded-alerts', kind: 'boolean', about: 'do not alert on mail in an inbox without a reader' },
  { name: 'no-urgent-alerts', kind: 'boolean', about: 'do not alert on urgent mail without an answer' },
]

/** Where events go besides the journal. */
const sinkFlags: readonly Flag[] = [
  {
    name: 'emit',
    kind: 'string',
    choices: ['stdout-jsonl', 'exec-per-event'],
    about: 'send events to stdout, or to a command (default: neither)',
  },
  {
    name: 'exec',
    kind: 'string',
    value: 'CMD',
    about: 'run CMD for each event, for at most 10 s (implies --emit exec-per-event)',
  },
  {
    name: 'max-attempts',
    kind: 'integer',
    min: 1,
    value: 'N',
    about: 'skip an event after N failed tries of CMD (default: try mail until CMD takes it)',
  },
  { name: 'events-file', kind: 'path', value: 'F', about: 'append an event line to F for each event' },
  {
    name: 'events-file-template',
    kind: 'path',
    value: 'F',
    about: 'same as --events-file, with one file per persona; F holds {persona}',
  },
  {
    name: 'max-bytes',
    kind: 'bytes',
    min: 0,
    default: 5_000_000,
    value: 'N',
    about: 'rotate event files at this size; 0: never',
  },
  {
    name: 'keep-logs',
    kind: 'integer',
    min: 1,
    max: 10_000,
    default: 5,
    value: 'N',
    about: 'keep N rotated event files',
  },
  {
    name: 'content-chars',
    kind: 'integer',
    min: 0,
    default: limits.monitorContentCodePointsMax,
    value: 'N',
    about: 'cut messages in events to N characters; the journal keeps them whole',
  },
  {
    name: 'heartbeat',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    value: 'N',
    about: 'send a heartbeat event every N seconds (default: none)',
  },
  {
    name: 'activity-file',
    kind: 'path',
    value: 'F',
    about: 'write a last-author report to F',
  },
]

/** The care of the store. */
const careFlags: readonly Flag[] = [
  {
    name: 'retain-read',
    kind: 'integer',
    min: 1,
    default: limits.readMessagesRetainedMax,
    value: 'N',
    about: 'keep N read messages per persona; archive older ones',
  },
  {
    name: 'segment-bytes',
    kind: 'bytes',
    min: 4096,
    max: 1024 ** 3,
    default: limits.segmentBytesMax,
    value: 'N',
    about: 'start a new segment at this size',
  },
  { name: 'no-gc', kind: 'boolean', about: 'do not move old segments to archive/' },
]

/** Every flag of `kim-producer run`. */
export const runFlags: readonly Flag[] = [
  storeFlag,
  ...serverFlags,
  ...personaFlags,
  ...paceFlags,
  ...recordFlags,
  ...sinkFlags,
  ...careFlags,
]
