import { once } from 'node:events'
import type { Input, Io } from '@kim/cli-kit'
import { exportRecords } from '../../journal/export.js'
import { storeOptions } from '../open-store.js'

/** Prints the stored lines of all available segments, byte for byte; 6 where some of it could not be read. */
export async function run(input: Input, io: Io): Promise<number> {
  let exit = 0
  const lines = exportRecords({
    storeDir: storeOptions(input, io).storeDir,
    from: input.number('from-seq'),
    to: input.number('to-seq'),
    agents: input.list('persona'),
    unreadable: why => {
      exit = 6
      io.stderr.write(`warning: ${why}\n`)
    },
  })
  for await (const line of lines) {
    if (io.signal.aborted) throw io.signal.reason
    if (!io.stdout.write(line)) await once(io.stdout, 'drain', { signal: io.signal })
  }
  return exit
}
