import { setTimeout as sleep } from 'node:timers/promises'
import type { Input, Io } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { ask } from '../ask-producer.js'
import { report } from '../report.js'
import { lastSign } from '../status/last-sign.js'
import { storeOf } from '../store-flags.js'

/** A clean stop takes at most two seconds (CL-14). */
const END_MS_MAX = 5000
const LOOK_MS = 20

/** Asks a running producer to stop, and waits until it has let go of the store. */
export async function run(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  const { pid } = lastSign(paths, Date.now())
  await ask(paths, 'shutdown', io)
  const isThere = (): boolean => {
    const sign = lastSign(paths, Date.now())
    return (sign.state === 'running' || sign.state === 'hung') && sign.pid === pid
  }
  for (let waited = 0; isThere(); waited += LOOK_MS) {
    if (waited >= END_MS_MAX)
      throw new KimError('producer_failed', `process ${pid} did not stop within ${END_MS_MAX / 1000} s`)
    await sleep(LOOK_MS, undefined, { signal: io.signal })
  }
  report(input, io, { pid: pid ?? null, stopped: true }, [`process ${pid} has stopped`])
  return 0
}
