import { type Program, runProcess } from '@kim/cli-kit'

const program: Program = {
  name: 'kijito-sim',
  version: '0.1.0',
  about: 'A Kijito server to try things against, on loopback.',
  commands: [
    {
      name: '',
      about: 'serve an account until a signal, or the end of stdin with --stdin',
      flags: [
        {
          name: 'port',
          kind: 'integer',
          default: 7474,
          min: 0,
          max: 65535,
          about: 'where it listens; 0: any',
        },
        { name: 'host', kind: 'string', default: '127.0.0.1', about: 'the address it listens on' },
        { name: 'expose', kind: 'boolean', about: 'listen on an address that is not loopback' },
        {
          name: 'dialect',
          kind: 'string',
          choices: ['local', 'hosted'],
          default: 'local',
          about: 'which server it is',
        },
        { name: 'persona', kind: 'string', many: true, value: 'P', about: 'who is in the directory' },
        {
          name: 'token',
          kind: 'string',
          about: 'answer 401 without it; not a real one, everybody can read it here',
        },
        {
          name: 'max-wait',
          kind: 'integer',
          min: 0,
          value: 'SECONDS',
          about: 'a request is held so long at most',
        },
        { name: 'long-poll', kind: 'boolean', about: 'hold requests on the local dialect too' },
        {
          name: 'chatter',
          kind: 'integer',
          min: 1,
          value: 'SECONDS',
          about: 'the personas write to each other',
        },
        {
          name: 'script',
          kind: 'string',
          value: 'FILE',
          about: 'commands to run at start, a JSON object a line',
        },
        { name: 'stdin', kind: 'boolean', about: 'take commands from stdin too' },
        {
          name: 'control',
          kind: 'integer',
          min: 0,
          max: 65535,
          value: 'PORT',
          about: 'take commands by POST here; 0: any port',
        },
      ],
      examples: [
        ['--persona river,argus,loom --chatter 3', 'three personas that write to each other'],
        ['--dialect hosted --token demo --port 0 --stdin', 'for a test'],
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
