import type { Io } from '@kim/cli-kit'
import { type JsonObject, KimError, type StorePaths } from '@kim/manifest'
import { askProducer, type ControlReply } from '../control/client.js'

/** How long a producer may take to answer. */
const ANSWER_MS_MAX = 10_000

/** Verbs that read and write a good part of the journal. */
const LONG_WORK = new Set(['checkpoint', 'gc'])

/** Asks the producer of a store as its operator; undefined if none runs. Work that takes long is waited for. */
export function askIfRunning(
  paths: StorePaths,
  verb: string,
  { env, signal }: Pick<Io, 'env' | 'signal'>,
  params?: JsonObject,
  answerMs: number = ANSWER_MS_MAX,
): Promise<ControlReply | undefined> {
  const principal = { kind: 'operator', name: 'kim-producer' } as const
  const withinMs = LONG_WORK.has(verb) ? undefined : answerMs
  return askProducer(paths, { verb, principal, params }, { env, signal, withinMs })
}

/** What a running producer did, with its head at that time; undefined if none runs. A refusal is thrown. */
export async function doneByProducer(
  paths: StorePaths,
  verb: string,
  io: Io,
  params?: JsonObject,
): Promise<{ readonly seq: number; readonly result: JsonObject } | undefined> {
  const reply = await askIfRunning(paths, verb, io, params)
  if (reply === undefined || reply.ok) return reply
  throw new KimError('producer_failed', `the producer refused the request: ${reply.message} (${reply.code})`)
}

/** The same, for what only a running producer can do. */
export async function ask(paths: StorePaths, verb: string, io: Io, params?: JsonObject): Promise<JsonObject> {
  const done = await doneByProducer(paths, verb, io, params)
  if (done === undefined) throw new KimError('no_producer', `no producer runs on the store ${paths.root}`)
  return done.result
}
