import { once } from 'node:events'
import type { Input, Io } from '@kim/cli-kit'
import { exportRecords } from '../../journal/export.js'
import { rehearse } from '../../journal/rehearse.js'
import { storeOptions } from '../open-store.js'

/** Prints the stored lines of all available segments, byte for byte. */
export async function run(input: Input, io: Io): Promise<number> {
  const lines = exportRecords({
    // A reader that goes through the writer's file layer, and must not tighten a mode on its way.
    ...rehearse(storeOptions(input, io)).options,
    from: input.number('from-seq'),
    to: input.number('to-seq'),
    agents: input.list('persona'),
  })
  for (const line of lines) {
    if (io.signal.aborted) throw io.signal.reason
    if (!io.stdout.write(line)) await once(io.stdout, 'drain', { signal: io.signal })
  }
  return 0
}
