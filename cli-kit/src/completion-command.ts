import { completionScript, SHELLS } from './completion.js'
import type { Command, Program } from './flag-table.js'

/** The command that prints completion scripts; `program` is asked for when it runs, because it holds this command. */
export function completionCommand(program: () => Program): Command {
  return {
    name: 'completion',
    about: 'Print a completion script.',
    positionals: [{ name: 'shell', about: SHELLS.join(', '), choices: SHELLS }],
    flags: [],
    load: async () => ({
      run: (input, io) => {
        io.stdout.write(completionScript(program(), input.positional('shell') ?? ''))
        return 0
      },
    }),
  }
}
