import type { Flag } from '@kim/cli-kit'
import { limits } from '@kim/manifest'

const DAY_SECONDS = 86_400

/** Where events are told besides the journal. */
export const sinkFlags: readonly Flag[] = [
  {
    name: 'emit',
    kind: 'string',
    choices: ['stdout-jsonl', 'exec-per-event'],
    about: 'print events on stdout, or run --exec for each (default: neither)',
  },
  {
    name: 'exec',
    kind: 'string',
    value: 'CMD',
    about: 'run CMD for each event (implies exec-per-event); it has 10 s an event',
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
    about: 'as --events-file, one file per persona; F holds {persona}',
  },
  {
    name: 'max-bytes',
    kind: 'bytes',
    min: 0,
    default: 5_000_000,
    value: 'N',
    about: 'size at which event files are rotated; 0: never',
  },
  {
    name: 'keep-logs',
    kind: 'integer',
    min: 1,
    max: 10_000,
    default: 5,
    value: 'N',
    about: 'rotated event files that are kept',
  },
  {
    name: 'content-chars',
    kind: 'integer',
    min: 0,
    default: limits.monitorContentCodePointsMax,
    value: 'N',
    about: 'characters of a message that are told; the journal keeps the whole',
  },
  {
    name: 'heartbeat',
    kind: 'integer',
    min: 1,
    max: DAY_SECONDS,
    value: 'N',
    about: 'seconds between signs of life among the events (default: none)',
  },
  {
    name: 'activity-file',
    kind: 'path',
    value: 'F',
    about: 'keep in F who wrote last',
  },
]
