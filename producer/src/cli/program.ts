import { completionCommand, type Program } from '@kim/cli-kit'
import { doctorCommands } from './doctor/commands.js'
import { importCommands } from './import/commands.js'
import { journalCommands } from './journal/commands.js'
import { runCommands } from './run/commands.js'
import { selfTestCommands } from './self-test/commands.js'
import { serviceCommands } from './service/commands.js'
import { version } from './version.js'

/** `kim-producer`: the writer of a store, and the care of one. */
export const producerProgram: Program = {
  name: 'kim-producer',
  version,
  about: 'Write the journal of Kijito inboxes, and maintain its store.',
  commands: [
    ...runCommands,
    ...serviceCommands,
    ...doctorCommands,
    ...selfTestCommands,
    ...importCommands,
    ...journalCommands,
    completionCommand(() => producerProgram),
  ],
  exitCodes: [
    [0, 'ok'],
    [1, 'runtime error'],
    [2, 'usage or configuration'],
    [4, 'no such journal, store or persona'],
    [5, 'records are missing'],
    [6, 'corrupt'],
    [75, 'another process holds the store'],
    [77, 'not permitted'],
  ],
}
