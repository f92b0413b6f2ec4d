import { completionCommand, flag, type Program, toggle, VERSION } from '@kim/cli-kit'
import { JSON_FLAG, PERSONA_FLAG, STORE_FLAGS, TAIL_FLAGS, UTC_FLAG } from './flags.js'

/** The command line of `kim-tail`. Each command's code is loaded when it is chosen. */
export const tailProgram: Program = {
  name: 'kim-tail',
  version: VERSION,
  about: 'Print and follow an inbox journal. Never writes to it.',
  exitCodes: [
    [0, 'ok, or the reader closed the pipe'],
    [1, 'runtime error'],
    [2, 'usage or configuration'],
    [3, 'the wait ended and nothing matched'],
    [4, 'no such persona, journal or record'],
    [5, 'a gap, with --on-gap fail'],
    [6, 'corrupt record'],
    [7, 'the producer is down or stale (status --check)'],
    [8, 'unknown (status --check)'],
    [75, 'the consumer is in use'],
    [77, 'not permitted'],
  ],
  onUnreadable: async (error, argv, io) => {
    const isVerb = tailProgram.commands.some(({ name }) => name !== '' && name.split(' ')[0] === argv[0])
    const { isForAgent, tellAgent } = await import('./verbs/tail.js')
    if (!isVerb && isForAgent(argv, io.env)) await tellAgent('error', error, io)
  },
  commands: [
    {
      name: '',
      about: 'Print records of the journal; with -f, wait for new ones.',
      flags: TAIL_FLAGS,
      examples: [
        ['kim-tail -p river', 'print the last ten entries of one persona'],
        [
          'kim-tail -p river --wake -f -o agent --consumer session',
          'wake an agent, and continue where the last run ended',
        ],
        [
          'kim-tail -p river --wake --wait --consumer session',
          'wait for one event (new mail or a diagnostic); in a loop, miss none',
        ],
        ['kim-tail -f -o monitor', 'print the event lines of the older monitor'],
      ],
      load: () => import('./verbs/tail.js'),
    },
    {
      name: 'show',
      about: 'Print one whole record, with its body.',
      positionals: [{ name: 'record', about: 'a seq, an event id such as river:new:246, or river/246' }],
      flags: [...STORE_FLAGS, JSON_FLAG, UTC_FLAG],
      load: () => import('./verbs/show.js'),
    },
    {
      name: 'status',
      about: 'Show unread mail, the producer and the consumers.',
      flags: [
        { ...PERSONA_FLAG, about: 'show only this persona' },
        ...STORE_FLAGS,
        flag('string', 'consumer', 'NAME', 'show only this consumer'),
        toggle('check', 'exit 0 if the producer is up, 7 if it is down or stale, 8 if unknown'),
        JSON_FLAG,
      ],
      load: () => import('./verbs/status.js'),
    },
    {
      name: 'ack',
      about: "Move a consumer's cursor forward to a seq (for --commit ack); never backwards.",
      requires: '--consumer NAME --seq N',
      flags: [
        flag('string', 'consumer', 'NAME', 'move the cursor of this consumer'),
        flag('integer', 'seq', 'N', 'acknowledge everything up to record N', { min: 1 }),
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: async () => ({ run: (await import('./verbs/cursors.js')).acknowledge }),
    },
    {
      name: 'cursors ls',
      about: 'List the consumers: name, seq of the cursor, project id of the journal.',
      flags: [JSON_FLAG],
      load: async () => ({ run: (await import('./verbs/cursors.js')).listCursors }),
    },
    {
      name: 'cursors set',
      about: "Move a consumer's cursor, forwards or backwards, or create a consumer.",
      requires: '(--seq N or --head)',
      positionals: [{ name: 'name', about: 'the consumer' }],
      flags: [
        flag('integer', 'seq', 'N', 'continue after this record; 0 for the beginning', { min: 0 }),
        toggle('head', 'continue after the newest record'),
        toggle('dry-run', 'print what would be done and change nothing'),
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: async () => ({ run: (await import('./verbs/cursors.js')).setCursor }),
    },
    {
      name: 'cursors rm',
      about: 'Delete a consumer and its cursor.',
      positionals: [{ name: 'name', about: 'the consumer' }],
      flags: [toggle('dry-run', 'print what would be done and change nothing'), JSON_FLAG],
      load: async () => ({ run: (await import('./verbs/cursors.js')).removeCursor }),
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
      positionals: [
        { name: 'name', about: 'the schema to print; without it, kim-tail lists the names', optional: true },
      ],
      flags: [],
      load: () => import('./verbs/schema.js'),
    },
    completionCommand(() => tailProgram),
    {
      name: 'activity',
      about: 'Check if an author wrote a message after an id.',
      requires: '--since-id N',
      exitCodes: [
        [0, 'yes'],
        [1, 'no'],
        [2, 'unknown, or an error'],
      ],
      positionals: [{ name: 'persona', about: 'the author, in exact case' }],
      flags: [
        flag('integer', 'since-id', 'N', 'look for messages with an id above N'),
        ...STORE_FLAGS,
        JSON_FLAG,
      ],
      load: () => import('./verbs/activity.js'),
    },
  ],
}
