import { type Program, runProgram } from '@kim/cli-kit'

const program: Program = {
  name: 'npm start --',
  version: '0.1.0',
  about: 'Run all of KIM in one terminal: a Kijito server, the producer and a reader.',
  commands: [
    {
      name: '',
      about: 'Show live mail until Ctrl-C: of a simulated hive, or of a real Kijito server with --url.',
      flags: [
        {
          name: 'url',
          kind: 'string',
          value: 'URL',
          about: 'use this real Kijito server instead of the simulator',
        },
        {
          name: 'dialect',
          kind: 'string',
          choices: ['local', 'hosted'],
          about: 'name the kind of server at --url',
        },
        {
          name: 'token-file',
          kind: 'string',
          value: 'F',
          about: 'read the token for --url from F (else $KIM_TOKEN)',
        },
        { name: 'auth-header', kind: 'string', value: 'NAME', about: 'send the token in this header' },
        { name: 'allow-loopback', kind: 'boolean', about: 'allow a --url on this machine' },
        { name: 'allow-private', kind: 'boolean', about: 'allow a --url on a private network' },
        {
          name: 'store',
          kind: 'string',
          value: 'DIR',
          about: 'keep the journal in DIR (default: a temporary store)',
        },
        { name: 'for', kind: 'duration', value: 'N', about: 'end after N seconds' },
        {
          name: 'persona',
          kind: 'string',
          many: true,
          value: 'P',
          default: 'river,argus,loom',
          about: 'choose the personas of the simulated hive',
        },
        {
          name: 'every',
          kind: 'integer',
          min: 1,
          default: 2,
          value: 'SECONDS',
          about: 'let a simulated persona write every SECONDS',
        },
      ],
      examples: [
        ['', 'simulate three personas that write to each other'],
        ['--for 8', 'do the same for eight seconds'],
        ['--url http://localhost:7474', 'follow your own Kijito server'],
      ],
      load: () => import('./run.js'),
    },
  ],
  exitCodes: [
    [0, 'ended by Ctrl-C or --for'],
    [1, 'one of the parts failed'],
    [2, 'usage, or flags that the producer refuses'],
  ],
}

// Ctrl-C may come twice, from the terminal and from npm: the second one must not cut short what the first began.
const ends = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ends.abort(signal))
process.stdout.on('error', () => ends.abort('EPIPE'))
const { stdout, stderr, env, argv } = process
process.exitCode = await runProgram(program, argv.slice(2), { stdout, stderr, env, signal: ends.signal })
