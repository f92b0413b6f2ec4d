import { type Program, runProcess } from '@kim/cli-kit'
import { SEED } from './seed.js'

const program: Program = {
  name: 'npm run incident --',
  version: '0.1.0',
  about: 'Recreates an incident as a store to look into with kim-replay; docs/incident.md walks through it.',
  commands: [
    {
      name: '',
      about:
        'write the store: a stuck persona, an outage and a suspended host, the same bytes for the same seed',
      flags: [
        {
          name: 'out',
          kind: 'string',
          value: 'DIR',
          about: 'where it is written: an empty directory, or none yet (default: a new temporary one)',
        },
        {
          name: 'seed',
          kind: 'integer',
          min: 0,
          max: 0xffff_0000,
          default: SEED,
          value: 'N',
          about: 'another afternoon of the same kind',
        },
        { name: 'json', kind: 'boolean', about: 'print one JSON object' },
      ],
      examples: [
        ['--out incident', 'what docs/incident.md looks into'],
        ['--seed 8', 'other times, other mail, the same causes'],
      ],
      load: () => import('./create.js'),
    },
  ],
  exitCodes: [
    [0, 'written'],
    [1, 'runtime error'],
    [2, 'usage, or the directory is not empty'],
  ],
}

await runProcess(program)
