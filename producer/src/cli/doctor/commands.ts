import type { Command } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'
import { jsonFlag } from '../store-flags.js'

/** What to ask when something seems wrong. */
export const doctorCommands: readonly Command[] = [
  {
    name: 'doctor',
    about:
      'Look at everything that is known to go wrong, and say exactly what mends it. Reads only, and marks no mail as read. Takes the flags of run.',
    flags: [
      jsonFlag,
      { name: 'fix', kind: 'boolean', about: 'mend what can be mended without harm: modes of our own files' },
      { name: 'only', kind: 'string', many: true, value: 'CHECK', about: 'these checks alone' },
      { name: 'name', kind: 'string', value: 'NAME', about: 'the service of that name' },
      ...runFlags,
    ],
    examples: [
      ['kim-producer doctor', 'everything'],
      ['kim-producer doctor --only token,server', 'the way to the server alone'],
    ],
    load: () => import('./doctor.js'),
  },
]
