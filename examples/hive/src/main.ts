import { type Program, runProgram } from '@kim/cli-kit'

const program: Program = {
  name: 'npm start --',
  version: '0.1.0',
  about: 'The whole of KIM in one terminal: a Kijito, the producer, and what a reader sees.',
  commands: [
    {
      name: '',
      about: 'show live mail until Ctrl-C: that of a simulated hive, or of a real Kijito with --url',
      flags: [
        { name: 'url', kind: 'string', value: 'URL', about: 'a Kijito that runs; nothing is simulated then' },
        {
          name: 'dialect',
          kind: 'string',
          choices: ['local', 'hosted'],
          about: 'which deployment answers at --url',
        },
        { name: 'token-file', kind: 'string', value: 'F', about: 'the token for --url (else $KIM_TOKEN)' },
        { name: 'auth-header', kind: 'string', value: 'NAME', about: 'send the token in this header' },
        { name: 'allow-loopback', kind: 'boolean', about: 'take a --url on this machine' },
        { name: 'allow-private', kind: 'boolean', about: 'take a --url on a private network' },
        {
          name: 'store',
          kind: 'string',
          value: 'DIR',
          about: 'keep the journal there (default: a throw-away store)',
        },
        { name: 'for', kind: 'duration', value: 'N', about: 'end by itself after so long, in seconds' },
        {
          name: 'persona',
          kind: 'string',
          many: true,
          value: 'P',
          default: 'river,argus,loom',
          about: 'who lives in the simulated hive',
        },
        {
          name: 'every',
          kind: 'integer',
          min: 1,
          default: 2,
          value: 'SECONDS',
          about: 'how often somebody in the simulated hive writes',
        },
      ],
      examples: [
        ['', 'three personas that write to each other'],
        ['--for 8', 'the same, for eight seconds'],
        ['--url http://localhost:7474', 'your own Kijito'],
      ],
      load: () => import('./run.js'),
    },
  ],
  exitCodes: [
    [0, 'ended by Ctrl-C or --for'],
    [1, 'one of the parts failed'],
    [2, 'usage'],
  ],
}

// Ctrl-C may come twice, from the terminal and from npm: the second one must not cut short what the first began.
const ends = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ends.abort(signal))
process.stdout.on('error', () => ends.abort('EPIPE'))
const { stdout, stderr, env, argv } = process
process.exitCode = await runProgram(program, argv.slice(2), { stdout, stderr, env, signal: ends.signal })
