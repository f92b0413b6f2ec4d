import { type Program, runProcess } from '@kim/cli-kit'

const program: Program = {
  name: 'kijito-sim',
  version: '0.1.0',
  about: 'Run a simulated Kijito server on loopback, for tests.',
  commands: [
    {
      name: '',
      about: 'Serve a simulated account until a signal, or until stdin ends with --stdin.',
      flags: [
        {
          name: 'port',
          kind: 'integer',
          default: 7474,
          min: 0,
          max: 65535,
          about: 'listen on this port; 0: any free port',
        },
        { name: 'host', kind: 'string', default: '127.0.0.1', about: 'listen on this address' },
        { name: 'expose', kind: 'boolean', about: 'allow an address that is not loopback' },
        {
          name: 'dialect',
          kind: 'string',
          choices: ['local', 'hosted'],
          default: 'local',
          about: 'choose the kind of server',
        },
        {
          name: 'persona',
          kind: 'string',
          many: true,
          value: 'P',
          about: 'choose the personas of the account',
        },
        {
          name: 'token',
          kind: 'string',
          about:
            'answer 401 without this token; do not use a real one, because it is visible in the process list',
        },
        {
          name: 'max-wait',
          kind: 'integer',
          min: 0,
          value: 'SECONDS',
          about: 'hold a long poll for at most SECONDS',
        },
        { name: 'long-poll', kind: 'boolean', about: 'hold long polls with the local dialect too' },
        {
          name: 'chatter',
          kind: 'integer',
          min: 1,
          value: 'SECONDS',
          about: 'let the personas write to each other every SECONDS',
        },
        {
          name: 'script',
          kind: 'string',
          value: 'FILE',
          about: 'run the commands in this file at start, one JSON object per line',
        },
        { name: 'stdin', kind: 'boolean', about: 'read commands from stdin too' },
        {
          name: 'control',
          kind: 'integer',
          min: 0,
          max: 65535,
          value: 'PORT',
          about: 'accept commands by POST on this port; 0: any free port',
        },
      ],
      examples: [
        ['--persona river,argus,loom --chatter 3', 'serve three personas that write to each other'],
        ['--dialect hosted --token demo --port 0 --stdin', 'serve for a test'],
      ],
      load: () => import('./cli/run.js'),
    },
  ],
  exitCodes: [
    [0, 'stopped'],
    [1, 'runtime error'],
    [2, 'usage'],
  ],
}

await runProcess(program)
