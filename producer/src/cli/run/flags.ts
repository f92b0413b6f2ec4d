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
    about: 'base URL of the server',
  },
  {
    name: 'dialect',
    kind: 'string',
    choices: ['local', 'hosted'],
    about: 'which deployment answers there; known for the two known URLs, required for any other',
  },
  {
    name: 'token-file',
    kind: 'path',
    value: 'F',
    about: 'a file with the token (else $KIM_TOKEN, else $KIJITOMON_TOKEN)',
  },
  {
    name: 'auth-header',
    kind: 'string',
    value: 'NAME',
    about: 'send the token in this header (default: Authorization: Bearer)',
  },
  { name: 'allow-loopback', kind: 'boolean', about: 'take a server on this machine' },
  { name: 'allow-private', kind: 'boolean', about: 'take a server on a private or link-local address' },
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
    about: 'an inbox by its exact name, comma included; give it again for another',
  },
  {
    name: 'personas',
    kind: 'string',
    many: true,
    value: 'A,B',
    about: 'several inboxes; a comma in a name is \\,',
  },
  { name: 'all-personas', kind: 'boolean', about: 'every inbox of the directory (the default)' },
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
    about: 'seconds a long poll is held; 0: none',
  },
  {
    name: 'poll-seconds',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 60,
    value: 'N',
    about: 'seconds between polls where counts cannot show new mail',
  },
  {
    name: 'alert-after',
    kind: 'integer',
    min: 1,
    default: 3,
    value: 'N',
    about: 'failures before an inbox counts as down',
  },
  {
    name: 'resync-every',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 10,
    value: 'N',
    about: 'an inbox is polled at the latest after (N + 1) x --poll-seconds',
  },
  {
    name: 'rediscover-every',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    default: 600,
    value: 'N',
    about: 'seconds between looks at the directory',
  },
  { name: 'no-fast-path', kind: 'boolean', about: 'do not ask for counts: poll every inbox' },
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
    about: 'with exactly one --persona: mail up to ID is no news',
  },
  {
    name: 'max-replay',
    kind: 'integer',
    min: 0,
    default: MAX_REPLAY_DEFAULT,
    value: 'N',
    about: 'messages that may have come while nothing ran and still be news; if there are more, none is',
  },
  { name: 'no-content', kind: 'boolean', about: 'keep bodies out of the store' },
  {
    name: 'suppress-author',
    kind: 'string',
    many: true,
    commas: false,
    value: 'P',
    about: 'record what P wrote without announcing it',
  },
  { name: 'no-stranded-alerts', kind: 'boolean', about: 'no alarm for mail in an inbox that nobody reads' },
  { name: 'no-urgent-alerts', kind: 'boolean', about: 'no alarm for urgent mail that stays unanswered' },
]

/** How the store is kept. */
const careFlags: readonly Flag[] = [
  {
    name: 'retain-read',
    kind: 'integer',
    min: 1,
    default: limits.readMessagesRetainedMax,
    value: 'N',
    about: 'read messages kept per persona',
  },
  {
    name: 'segment-bytes',
    kind: 'bytes',
    min: 4096,
    max: 1024 ** 3,
    default: limits.segmentBytesMax,
    value: 'N',
    about: 'size at which a segment is rolled',
  },
  { name: 'no-gc', kind: 'boolean', about: 'leave every segment where it is' },
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
