import type { Flag } from '@kim/cli-kit'
import { limits } from '@kim/manifest'

const DAY_SECONDS = 86_400

/** Where events are told besides the journal. */
export const sinkFlags: readonly Flag[] = [
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
