import type { Command } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'
import { jsonFlag } from '../store-flags.js'

/** What to ask when something seems wrong. */
export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    about:
      'Check for known problems and print how to correct each one. Reads only, and marks no mail as read. Takes the flags of run.',
    flags: [
      jsonFlag,
      {
        name: 'fix',
        kind: 'boolean',
        about: "correct what is safe to correct: the modes of the store's own files",
      },
      { name: 'only', kind: 'string', many: true, value: 'CHECK', about: 'run only these checks' },
      { name: 'name', kind: 'string', value: 'NAME', about: 'check the service of this name' },
      ...runFlags,
    ],
    examples: [
      ['kim-producer doctor', 'run every check'],
      ['kim-producer doctor --only token,server', 'check only the connection to the server'],
    ],
    load: () => import('./doctor.js'),
  },
]
