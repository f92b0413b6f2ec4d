import { type Flag, flag, toggle } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import { storeFlag } from '../store-flags.js'

const DAY_SECONDS = 86_400

const SECONDS = { min: 1, max: DAY_SECONDS }

/** A flag with a number of seconds. */
function seconds(name: string, about: string, usual: number): Flag {
  return flag('integer', name, 'N', about, { ...SECONDS, default: usual })
}

/** If more messages than this wait in an inbox at the first poll, none is announced (KS-34). */
export const MAX_REPLAY_DEFAULT = 50

/** Every flag of `kim-producer run`. */
export const runFlags: readonly Flag[] = [
  { ...storeFlag, topic: 'Store' },
  flag('string', 'url', 'URL', 'poll the server with this base URL', {
    topic: 'Server',
    default: 'http://localhost:7474',
  }),
  {
    name: 'dialect',
    kind: 'string',
    choices: ['local', 'hosted'],
    about: 'name the kind of server; required for a URL other than the two known ones',
  },
  flag('path', 'token-file', 'F', 'read the token from this file (else $KIM_TOKEN, else $KIJITOMON_TOKEN)'),
  flag('string', 'auth-header', 'NAME', 'send the token in this header (default: Authorization: Bearer)'),
  toggle('allow-loopback', 'allow a URL on this machine other than the default one'),
  toggle('allow-private', 'allow a server on a private or link-local address'),
  flag('string', 'persona', 'P', 'follow this inbox (exact case; write a comma in a name as \\,)', {
    topic: 'Inboxes',
    short: 'p',
    many: true,
  }),
  flag('string', 'personas', 'A,B', 'same as --persona', { many: true }),
  toggle('all-personas', 'follow every inbox of the server (the default)'),
  flag(
    'integer',
    'wait',
    'N',
    'let a hosted server hold a request for unread counts up to N seconds; 0: ask every --poll-seconds',
    { topic: 'When to poll', min: 0, max: DAY_SECONDS, default: 50 },
  ),
  seconds(
    'poll-seconds',
    "poll an inbox every N seconds if the server's unread counts cannot show its new mail",
    60,
  ),
  flag('integer', 'alert-after', 'N', 'report an inbox as down after N failed polls', { min: 1, default: 3 }),
  seconds('resync-every', 'poll each inbox at least every (N + 1) x --poll-seconds seconds', 10),
  seconds('rediscover-every', 'look for new inboxes every N seconds', 600),
  toggle('no-fast-path', 'poll every inbox instead of asking for counts of unread mail'),
  flag('integer', 'seed-at', 'ID', 'do not announce messages with id ≤ ID (needs exactly one --persona)', {
    topic: 'What to record and to announce',
    min: 0,
    remedy: 'ids begin at 1: --seed-at 0 announces all that --max-replay allows',
  }),
  flag(
    'integer',
    'max-replay',
    'N',
    'after a time without a producer, announce the mail of an inbox only if at most N messages came',
    { min: 0, default: MAX_REPLAY_DEFAULT },
  ),
  toggle('no-content', 'do not store message bodies'),
  flag('string', 'suppress-author', 'P', 'record messages from P, but do not announce them', {
    many: true,
    commas: false,
  }),
  toggle('no-stranded-alerts', 'do not alert on unread mail that no agent seems to read'),
  flag(
    'duration',
    'urgent-after',
    'DUR',
    'alert if a persona has unread urgent mail and sends no message for DUR',
    {
      default: '5m',
    },
  ),
  toggle('no-urgent-alerts', 'do not alert on urgent mail without an answer'),
  {
    topic: 'Where events go besides the journal',
    name: 'emit',
    kind: 'string',
    choices: ['stdout-jsonl', 'exec-per-event'],
    about: 'send events to stdout, or to a command (default: neither)',
  },
  flag('string', 'exec', 'CMD', 'run CMD for each event, for at most 10 s (implies --emit exec-per-event)'),
  flag(
    'integer',
    'max-attempts',
    'N',
    'skip an event after N failed tries of CMD (default: mail never; diagnostics after 5; armed, heartbeat and recovered after 1)',
    { min: 1 },
  ),
  flag('path', 'events-file', 'F', 'append an event line to F for each event'),
  flag(
    'path',
    'events-file-template',
    'F',
    'same as --events-file, with one file per persona; F contains {persona}',
  ),
  flag('bytes', 'max-bytes', 'N', 'rotate event files at this size; 0: never', {
    min: 0,
    default: 5_000_000,
    remedy: 'to rotate at no size: --max-bytes 0',
  }),
  flag('integer', 'keep-logs', 'N', 'keep N rotated event files', { min: 1, max: 10_000, default: 5 }),
  flag(
    'integer',
    'content-chars',
    'N',
    'cut messages in events to N characters; the journal keeps them whole',
    { min: 0, default: limits.monitorContentCodePointsMax },
  ),
  flag('integer', 'heartbeat', 'N', 'send a heartbeat event every N seconds (default: none)', SECONDS),
  flag('path', 'activity-file', 'F', 'keep F up to date with the newest message of each author, as JSON'),
  flag(
    'integer',
    'retain-read',
    'N',
    'keep the newest N read messages per persona in the state; older ones stay in the journal only',
    { topic: 'Care of the store', min: 1, default: limits.readMessagesRetainedMax },
  ),
  flag('bytes', 'segment-bytes', 'N', 'start a new segment at this size', {
    min: 4096,
    max: 1024 ** 3,
    default: limits.segmentBytesMax,
  }),
  toggle('no-gc', 'do not move old segments to archive/'),
]

/** Flags of the older monitor that are commands here. */
export const olderFlags: Readonly<Record<string, string>> = {
  'state-file': 'import it once: kim-producer import --state-file F; then run without this flag',
  'self-test': 'it is a command: kim-producer self-test, with the flags of run',
  'check-activity': 'it is a command of the reader: kim-tail activity NAME --since-id ID',
  'since-id': 'it is a flag of the reader: kim-tail activity NAME --since-id ID',
  waits: 'leave it out: kim-tail activity NAME --since-id ID answers from the journal',
}
