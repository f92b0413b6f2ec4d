import type { Io } from '@kim/cli-kit'
import type { StorePaths } from '@kim/manifest'
import { askIfRunning } from '../ask-producer.js'
import { type LastSign, lastSign } from './last-sign.js'

/** How long a producer is waited for; one that does not answer by then is not the one to ask. */
const ANSWER_MS_MAX = 2000

/** What the producer of a store says of itself, or what it left. */
export async function askedSign(paths: StorePaths, io: Pick<Io, 'env' | 'signal'>): Promise<LastSign> {
  const told = await askIfRunning(paths, 'status', io, undefined, ANSWER_MS_MAX).catch(() => undefined)
  const found = lastSign(paths, Date.now())
  return told?.ok === true ? { ...found, state: 'running', ageMs: 0, health: told.result } : found
}
