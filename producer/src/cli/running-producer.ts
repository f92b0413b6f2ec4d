/** What commands learn from a running producer and its files, and the commands `poke` and `shutdown`. */
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { didYouMean, type Input, type Io, isProcessAlive, safeText } from '@kim/cli-kit'
import { isJsonObject, type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { askProducer, type ControlReply } from '../control/client.js'
import { readPlainFile, startKeyOf } from '../effects/system.js'
import { report, storeCommand, storeOf } from './store-flags.js'

/** How long a producer may take to answer. */
const ANSWER_MS_MAX = 10_000
/** The same, if files tell enough without an answer. */
const STATUS_MS_MAX = 2000

/** These read and write a large part of the journal, so there is no limit. */
const LONG_WORK = new Set(['checkpoint', 'gc'])

/** Asks the producer of a store as its operator. Returns undefined if none runs. */
function askIfRunning(
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

/** What a running producer did, with its head at that time. Returns undefined if none runs, and throws a refusal. */
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
async function ask(paths: StorePaths, verb: string, io: Io, params?: JsonObject): Promise<JsonObject> {
  const done = await doneByProducer(paths, verb, io, params)
  if (done === undefined) {
    const { state, pid } = lastSign(paths, Date.now())
    const held = `process ${pid} holds the store ${paths.root} but has no control socket; if it is a producer, its log says why (control_missing)`
    const kill = { hint: `nothing was changed; to stop it: kill ${pid}` }
    if (state === 'running' || state === 'hung') throw new KimError('producer_failed', held, kill)
    const start = 'start one with the flags of this store: kim-producer run'
    const next = verb === 'shutdown' ? 'nothing was stopped; see: kim-producer status' : start
    const hint = storeCommand(next, paths.root, io.env)
    throw new KimError('no_producer', `no producer runs on the store ${paths.root}`, { hint })
  }
  return done.result
}

/** What the files in `run/` say about the producer of a store. */
export interface LastSign {
  /**
   * `running`: a process holds the lock. `hung`: one does, but its health file is old. `stopped`: the last one stopped
   * in order. `gone`: it ended otherwise. `never`: there are no files. `unknown`: the files cannot be read.
   */
  readonly state: 'running' | 'hung' | 'stopped' | 'gone' | 'never' | 'unknown'
  readonly pid: number | undefined
  readonly started: string | undefined
  /** The age of the health file in milliseconds. */
  readonly ageMs: number | undefined
  /** What the producer last said about itself. */
  readonly health: JsonObject
}

/** What the producer of a store says about itself if it answers, else what its files say. */
export async function askedSign(paths: StorePaths, io: Pick<Io, 'env' | 'signal'>): Promise<LastSign> {
  const reply = await askIfRunning(paths, 'status', io, undefined, STATUS_MS_MAX).catch(() => undefined)
  const found = lastSign(paths, Date.now())
  return reply?.ok === true ? { ...found, state: 'running', ageMs: 0, health: reply.result } : found
}

/** A producer is hung if it missed this many intervals of its health file. */
const INTERVALS = 3
const INTERVAL_MS = 10_000

/** Reads the lock file and `run/health.json`. */
export function lastSign(paths: StorePaths, nowMs: number): LastSign {
  const holder = readObject(paths.lock)
  const pid = holder['pid']
  const health = readObject(paths.health)
  const isHeld = typeof pid === 'number' && isRunning(pid, holder['start_key'])
  // Both files hold the time of the start; the health file has the one that the producer itself reports.
  const { started } = isHeld && health['pid'] !== pid ? holder : health
  const ageMs = ageOf(paths.health, nowMs)
  const interval = numberIn(health['interval_ms']) ?? INTERVAL_MS
  // The health file of an earlier process says nothing about this one.
  const isSilent = health['pid'] === pid && ageMs !== undefined && ageMs > interval * INTERVALS
  const left = stateLeft(health, ageMs !== undefined)
  return {
    state: isHeld ? (isSilent ? 'hung' : 'running') : left,
    pid: isHeld ? pid : numberIn(health['pid']),
    started: typeof started === 'string' ? started : undefined,
    ageMs: isHeld || left !== 'unknown' ? ageMs : undefined,
    health,
  }
}

function stateLeft(health: JsonObject, isThere: boolean): LastSign['state'] {
  if (health['state'] === undefined) return isThere ? 'unknown' : 'never'
  return health['state'] === 'stopped' ? 'stopped' : 'gone'
}

/** Another process may have the pid by now, which its start key shows. */
function isRunning(pid: number, startKey: unknown): boolean {
  if (!isProcessAlive(pid)) return false
  const key = startKeyOf(pid)
  return key === undefined || key === startKey
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function readObject(path: string): JsonObject {
  try {
    const value: unknown = JSON.parse(readPlainFile(path) ?? '')
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function ageOf(path: string, nowMs: number): number | undefined {
  try {
    return Math.max(0, nowMs - statSync(path).mtimeMs)
  } catch {
    return undefined
  }
}

/** The most watched inboxes that an error lists. */
const NAMES_MAX = 12

/** `poke`: makes a running producer poll now. */
export async function poke(input: Input, io: Io): Promise<number> {
  const personas = input.list('persona')
  const paths = storePaths(storeOf(input, io))
  let due = 0
  for (const persona of personas.length === 0 ? [undefined] : personas) {
    const answer = await ask(paths, 'poke', io, persona === undefined ? undefined : { persona })
    if (persona !== undefined && answer['due'] === 0) throw await notWatched(persona, paths, io)
    due += Number(answer['due'])
  }
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
