import type { Command } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'
import { jsonFlag } from '../store-flags.js'

/** The whole way once, before it is relied on. */
export const selfTestCommands: readonly Command[] = [
  {
    name: 'self-test',
    about:
      'Try the whole way once: look at each inbox, append to a journal of its own, see a reader wake, hand the sinks a heartbeat. Marks nothing as read and touches no store. Takes the flags of run.',
    flags: [jsonFlag, ...runFlags],
    examples: [['kim-producer self-test -p river', 'one inbox of the local Kijito']],
    load: () => import('./self-test.js'),
  },
]
