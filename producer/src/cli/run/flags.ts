import type { Flag } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import { storeFlag } from '../store-flags.js'
import { sinkFlags } from './sink-flags.js'

const DAY_SECONDS = 86_400

/** Which server, and how to reach it. */
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

/** Whose inboxes. */
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

/** When to ask. */
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

/** Messages to one inbox that may have come while nothing ran and still be news (KS-34). */
export const MAX_REPLAY_DEFAULT = 50

/** What is recorded, and what is announced. */
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

/** How the store is kept. */
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
