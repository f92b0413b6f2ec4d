import { once } from 'node:events'
import type { Input, Io } from '@kim/cli-kit'
import { exportRecords } from '../../journal/export.js'
import { storeOptions } from '../open-store.js'

/** Prints the stored lines of all available segments, byte for byte. */
export async function run(input: Input, io: Io): Promise<number> {
  const lines = exportRecords({
    ...storeOptions(input, io),
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
