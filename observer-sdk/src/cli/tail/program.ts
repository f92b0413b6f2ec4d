import { completionCommand, type Program } from '@kim/cli-kit'
import { VERSION } from '../version.js'
import { JSON_FLAG, PERSONA_FLAG, STORE_FLAGS, TAIL_FLAGS, UTC_FLAG } from './flags.js'

const CONSUMER_NAME = { name: 'consumer', kind: 'string', value: 'NAME', about: 'whose cursor' } as const

/** The command line of `kim-tail`. Each command's code is loaded when it is chosen. */
export const program: Program = {
  name: 'kim-tail',
  version: VERSION,
  about: 'Follow an inbox journal without touching it.',
  exitCodes: [
    [0, 'ok, a closed pipe, or what was waited for came'],
    [1, 'runtime error'],
    [2, 'usage or configuration'],
    [3, 'waited out and nothing matched'],
    [4, 'no such persona, journal or record'],
    [5, 'a gap, with --on-gap fail'],
    [6, 'corrupt record'],
    [7, 'the producer is down or stale (status --check)'],
    [8, 'it cannot be told (status --check)'],
    [75, 'the consumer is in use'],
    [77, 'not permitted'],
  ],
  onUnreadable: async (error, argv, io) => {
    const isVerb = program.commands.some(({ name }) => name !== '' && name.split(' ')[0] === argv[0])
    const { isForAgent, tellAgent } = await import('./flow/tell-agent.js')
    if (!isVerb && isForAgent(argv, io.env)) await tellAgent('error', error, io)
  },
  commands: [
    {
      name: '',
      about: 'Print what stands in the journal; with -f, go on with what comes.',
      positionals: [
        { name: 'tries', about: 'the N of "--on-poison skip-after N"', optional: true, hidden: true },
      ],
      flags: TAIL_FLAGS,
      examples: [
        ['kim-tail -p river', 'the last ten entries of one persona'],
        ['kim-tail -p river -f -o agent --consumer session', 'wake an agent, and lose nothing in between'],
        ['kim-tail -p river --wait --consumer session', 'wait for one message; in a loop, miss none'],
        ['kim-tail -f -o monitor', 'the event lines of the older monitor'],
      ],
      load: () => import('./verbs/tail.js'),
    },
    {
      name: 'show',
      about: 'Print one record whole, its body included.',
      positionals: [{ name: 'record', about: 'a seq, or an event id such as river:new:246' }],
      flags: [...STORE_FLAGS, JSON_FLAG, UTC_FLAG],
      load: () => import('./verbs/show.js'),
    },
    {
      name: 'status',
      about: 'Backlog here, backlog elsewhere, the producer and the consumers, kept apart.',
      flags: [
        PERSONA_FLAG,
        ...STORE_FLAGS,
        CONSUMER_NAME,
        {
          name: 'check',
          kind: 'boolean',
          about: 'exit 0 if the producer is up, 7 if not, 8 if it cannot be told',
        },
        JSON_FLAG,
      ],
      load: () => import('./verbs/status.js'),
    },
    {
      name: 'ack',
      about: 'Acknowledge what a consumer was given, up to a seq; never backwards.',
      flags: [
        CONSUMER_NAME,
        { name: 'seq', kind: 'integer', min: 1, value: 'N', about: 'the last record that is dealt with' },
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: () => import('./verbs/ack.js'),
    },
    {
      name: 'cursors ls',
      about: 'List the durable cursors.',
      flags: [JSON_FLAG],
      load: () => import('./verbs/cursors-ls.js'),
    },
    {
      name: 'cursors set',
      about: "Put a consumer's cursor somewhere else.",
      positionals: [{ name: 'name', about: 'the consumer' }],
      flags: [
        { name: 'seq', kind: 'integer', min: 0, value: 'N', about: 'after this record; 0 for the beginning' },
        { name: 'head', kind: 'boolean', about: 'after everything that stands there now' },
        { name: 'dry-run', kind: 'boolean', about: 'say what would be done' },
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: () => import('./verbs/cursors-set.js'),
    },
    {
      name: 'cursors rm',
      about: 'Forget a consumer.',
      positionals: [{ name: 'name', about: 'the consumer' }],
      flags: [{ name: 'dry-run', kind: 'boolean', about: 'say what would be done' }, JSON_FLAG],
      load: () => import('./verbs/cursors-rm.js'),
    },
    {
      name: 'personas',
      about: 'List the personas of a journal: unread, newest message, state.',
      flags: [...STORE_FLAGS, JSON_FLAG],
      load: () => import('./verbs/personas.js'),
    },
    {
      name: 'schema',
      about: 'Print the JSON Schema of a record or an output.',
      positionals: [{ name: 'name', about: 'which; without it, their names', optional: true }],
      flags: [],
      load: () => import('./verbs/schema.js'),
    },
    completionCommand(() => program),
    {
      name: 'activity',
      about: 'Has this author written since? Exit 0 yes, 1 no, 2 not known.',
      positionals: [{ name: 'persona', about: 'the author, in exact case' }],
      flags: [
        { name: 'since-id', kind: 'integer', value: 'N', about: 'the id after which to look' },
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: () => import('./verbs/activity.js'),
    },
  ],
}
