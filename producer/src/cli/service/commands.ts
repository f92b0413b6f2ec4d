import type { Command, Flag } from '@kim/cli-kit'
import { SERVICE_TARGETS } from '../../service/target.js'
import { runFlags } from '../run/flags.js'
import { dryRunFlag, jsonFlag } from '../store-flags.js'

const whichFlags: readonly Flag[] = [
  {
    name: 'target',
    kind: 'string',
    choices: ['auto', ...SERVICE_TARGETS],
    default: 'auto',
    about: 'the supervisor it is for',
  },
  { name: 'name', kind: 'string', value: 'NAME', about: 'tells several services apart' },
  dryRunFlag,
  jsonFlag,
]

/** Putting the producer under a supervisor, and taking it away again. */
export const serviceCommands: readonly Command[] = [
  {
    name: 'install-service',
    about:
      'Run the producer as a service of your own: started at login, again after a crash, and not after an error that starting again cannot mend. Takes the flags of run.',
    flags: [
      ...whichFlags,
      { name: 'print', kind: 'boolean', about: 'print the file that would be written, and nothing else' },
      { name: 'no-start', kind: 'boolean', about: 'install it and leave it for the next login' },
      { name: 'linger', kind: 'boolean', about: 'keep it running when you are logged out (systemd)' },
      ...runFlags,
    ],
    examples: [
      ['kim-producer install-service --linger', 'every inbox of the local Kijito'],
      ['kim-producer install-service --print --target launchd', 'look at the agent first'],
    ],
    load: () => import('./install.js'),
  },
  {
    name: 'uninstall-service',
    about: 'End the service and remove its file. The store stays.',
    flags: whichFlags,
    load: () => import('./uninstall.js'),
  },
]
