import type { Io } from '@kim/cli-kit'
import { type JsonObject, KimError, type StorePaths } from '@kim/manifest'
import { askProducer, type ControlReply } from '../../control/client.js'

/** How long a producer may take to answer. */
const ANSWER_MS_MAX = 10_000

/** Asks the producer of a store as its operator; undefined if none runs. */
export function askIfRunning(
  paths: StorePaths,
  verb: string,
  io: Io,
  params?: JsonObject,
): Promise<ControlReply | undefined> {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(ANSWER_MS_MAX)])
  const principal = { kind: 'operator', name: 'kim-producer' } as const
  return askProducer(paths, { verb, principal, params }, { env: io.env, signal })
}

/** The same, for what only a running producer can do. */
export async function ask(paths: StorePaths, verb: string, io: Io, params?: JsonObject): Promise<JsonObject> {
  const reply = await askIfRunning(paths, verb, io, params)
  if (reply === undefined) throw new KimError('no_producer', `no producer runs on ${paths.root}`)
  if (!reply.ok)
    throw new KimError('producer_failed', `the producer refused: ${reply.message} (${reply.code})`)
  return reply.result
}
