import type { Command, Flag } from '@kim/cli-kit'
import { SERVICE_TARGETS } from '../../os-service/supervisors.js'
import { runFlags } from '../run/flags.js'
import { dryRunFlag, jsonFlag } from '../store-flags.js'

const whichFlags: readonly Flag[] = [
  {
    name: 'target',
    kind: 'string',
    choices: ['auto', ...SERVICE_TARGETS],
    default: 'auto',
    about: 'choose the supervisor',
  },
  { name: 'name', kind: 'string', value: 'NAME', about: 'name the service, if there are several' },
  dryRunFlag,
  jsonFlag,
]

/** Putting the producer under a supervisor, and taking it away again. */
export const serviceCommands: readonly Command[] = [
  {
    name: 'install-service',
    about:
      'Install the producer as a user service: it starts at login and after a crash, but not after a configuration error. Takes the flags of run.',
    flags: [
      ...whichFlags,
      { name: 'print', kind: 'boolean', about: 'print the service file and change nothing' },
      { name: 'no-start', kind: 'boolean', about: 'install the service, but start it at the next login' },
      {
        name: 'linger',
        kind: 'boolean',
        about: 'keep the service running when you are logged out (systemd)',
      },
      ...runFlags,
    ],
    examples: [
      ['kim-producer install-service --linger', 'follow every inbox of the local Kijito server'],
      ['kim-producer install-service --print --target launchd', 'print the launchd agent'],
    ],
    load: () => import('./install.js'),
  },
  {
    name: 'uninstall-service',
    about: 'Stop the service and remove its file. Keeps the store.',
    flags: whichFlags,
    load: () => import('./uninstall.js'),
  },
]
