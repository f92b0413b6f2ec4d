import { setTimeout as sleep } from 'node:timers/promises'
import { didYouMean, type Input, type Io, safeText } from '@kim/cli-kit'
import { type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { ask, lastSign } from '../ask-producer.js'
import { report, storeOf } from '../store-flags.js'

/** The most watched inboxes that an error lists. */
const NAMES_MAX = 12

/** `poke`: makes a running producer poll now. */
export async function poke(input: Input, io: Io): Promise<number> {
  const persona = input.text('persona')
  const paths = storePaths(storeOf(input, io))
  const { due } = await ask(paths, 'poke', io, persona === undefined ? undefined : { persona })
  if (persona !== undefined && due === 0) throw await notWatched(persona, paths, io)
  report(input, io, { due }, [`${due} ${due === 1 ? 'inbox is' : 'inboxes are'} polled now`])
  return 0
}

async function notWatched(persona: string, paths: StorePaths, io: Io): Promise<KimError> {
  const names = namesIn(await ask(paths, 'status', io))
  const shown = [...names.slice(0, NAMES_MAX), ...(names.length > NAMES_MAX ? ['…'] : [])].join(', ')
  return new KimError(
    'no_persona',
    safeText(`no inbox "${persona}" is watched${didYouMean(persona, names)}`),
    { hint: names.length === 0 ? 'no inbox is watched yet' : safeText(`watched: ${shown}`) },
  )
}

function namesIn({ personas }: JsonObject): readonly string[] {
  if (!Array.isArray(personas)) return []
  return personas
    .map((one: { readonly persona?: unknown } | null) => one?.persona)
    .filter(name => typeof name === 'string')
    .sort()
}

/** A clean stop takes at most two seconds (CL-14). */
const END_MS_MAX = 5000
const LOOK_MS = 20

/** `shutdown`: asks a running producer to stop, and waits until it has released the store. */
export async function shutdown(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  const { pid } = lastSign(paths, Date.now())
  await ask(paths, 'shutdown', io)
  const isRunning = (): boolean => {
    const sign = lastSign(paths, Date.now())
    return (sign.state === 'running' || sign.state === 'hung') && sign.pid === pid
  }
  for (let waited = 0; isRunning(); waited += LOOK_MS) {
    if (waited >= END_MS_MAX)
      throw new KimError('producer_failed', `process ${pid} did not stop within ${END_MS_MAX / 1000} s`)
    await sleep(LOOK_MS, undefined, { signal: io.signal })
  }
  report(input, io, { pid: pid ?? null, stopped: true }, [`process ${pid} has stopped`])
  return 0
}
