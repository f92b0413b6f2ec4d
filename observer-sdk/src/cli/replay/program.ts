import type { Flag, Program } from '@kim/cli-kit'
import { VERSION } from '../version.js'

const events: Flag = {
  name: 'events',
  kind: 'string',
  value: 'DIR',
  about: 'an events directory, or a copy of one',
}
const store: Flag = {
  name: 'store',
  kind: 'string',
  value: 'DIR',
  env: 'KIM_STORE',
  about: "the store, where no --events is given (default: the state directory's kim/stores/default)",
}
const json: Flag = { name: 'json', kind: 'boolean', about: 'print one JSON object' }

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
        { name: 'cursor', kind: 'string', value: 'FILE', about: 'a stored cursor to open with' },
        json,
      ],
      examples: [
        ['kim-replay digest --events ./copied/events', 'digest, live entities and head, on one line'],
      ],
      load: () => import('./digest.js'),
    },
    {
      name: 'verify',
      about: 'Judge a journal from its bytes alone, archive included. Exit 0 clean, 5 holes, 6 corrupt.',
      flags: [events, store, json],
      load: () => import('./verify.js'),
    },
    {
      name: 'stats',
      about: 'Count what a journal holds: segments, bytes, records by type and verb, personas, checkpoints.',
      flags: [events, store, json],
      load: () => import('./stats.js'),
    },
  ],
  exitCodes: [
    [0, 'ok'],
    [1, 'runtime error'],
    [2, 'usage'],
    [4, 'no journal there'],
    [5, 'records are missing'],
    [6, 'corrupt'],
    [77, 'not permitted'],
  ],
}
