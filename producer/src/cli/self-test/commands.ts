import type { Command } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'
import { jsonFlag } from '../store-flags.js'

/** The whole way once, before it is relied on. */
export const selfTestCommands: readonly Command[] = [
  {
    name: 'self-test',
    about:
      'Test the whole path once: poll each inbox, append to a temporary journal, wake a reader, send the sinks a heartbeat. Marks no mail as read and does not touch the store. Takes the flags of run.',
    flags: [jsonFlag, ...runFlags],
    examples: [['kim-producer self-test -p river', 'test with one inbox of the local Kijito server']],
    load: () => import('./self-test.js'),
  },
]
