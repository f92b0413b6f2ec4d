/** The named consumers of a user: their cursors in files of `kim-tail`, and who uses them now. */
import {
  closeSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ConsumerCursor,
  clientState,
  type Environment,
  formatConsumerCursor,
  KimError,
  limits,
  parseConsumerCursor,
  type ReplaceDisk,
  replaceFile,
  safeText,
} from '@kim/manifest'
import { makeDirectory } from './cursor-stores.js'

/** Names of consumers are file names on every system. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const SUFFIX = '.json'

/** Where the cursors of named consumers are: this client's own state, never a store. */
function consumersDirectory(env: Environment): string {
  return join(clientState(env, homedir(), 'kim-tail'), 'cursors')
}

/** The file of one consumer. */
export function consumerPath(env: Environment, name: string): string {
  const hint = 'use letters, digits, ".", "_" and "-", at most 100 characters'
  if (!NAME.test(name)) throw new KimError('usage', `"${name}" cannot name a consumer`, { hint })
  return join(consumersDirectory(env), `${name}${SUFFIX}`)
}

/** The names that have a cursor, sorted. */
export function listConsumers(env: Environment): string[] {
  try {
    return readdirSync(consumersDirectory(env))
      .filter(file => file.endsWith(SUFFIX) && NAME.test(file.slice(0, -SUFFIX.length)))
      .map(file => file.slice(0, -SUFFIX.length))
      .sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return []
    throw error
  }
}

/**
 * The cursor in a consumer's file, undefined if the file is missing. A file that holds no cursor is refused: a consumer
 * that began at the head instead would pass over everything that was not delivered yet.
 */
export function readConsumer(path: string): ConsumerCursor | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  const cursor = parseConsumerCursor(text)
  if (cursor !== undefined) return cursor
  const name = basename(path, SUFFIX)
  const hint = `the file was left as it is; to miss nothing: kim-tail cursors set ${name} --seq N, with the same --store or --events (N: the last record that was handled); or kim-tail cursors rm ${name}: the next run then begins with new mail`
  throw new KimError('cursor_invalid', `${path} does not hold a valid cursor`, { hint })
}

/** Makes a cursor durable. */
export function writeConsumer(path: string, cursor: ConsumerCursor): void {
  storeCursor(path, formatConsumerCursor(cursor))
}

/** Forgets a consumer; false if there was none. */
export function removeConsumer(path: string): boolean {
  try {
    unlinkSync(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/** What its files show about a named consumer of `kim-tail`. */
export interface Consumer {
  readonly consumer: string
  /** Null if its file is damaged or cannot be read, or it never began. */
  readonly seq: number | null
  /** How far the head is ahead, in seqs; null if that is unknown. */
  readonly behind: number | null
  /** Whether a process holds its name now. */
  readonly in_use: boolean
  /** Its file. */
  readonly file: string
}

/** Which consumers are asked about, and how far their journal has come. */
export interface ConsumersQuery {
  readonly env: Environment
  readonly projectId: string
  /** The newest seq of the journal: a consumer is behind by what it lacks up to there. */
  readonly headSeq: number
  /** This one alone, whatever its journal. */
  readonly only?: string | undefined
  /** The time, in milliseconds since 1970, by which a lock counts as held; the present if absent. */
  readonly nowMs?: number
}

/** The consumers of a journal that this user has, by name. One whose file is damaged may be of any journal, so it is listed. */
export function consumersOf({
  env,
  projectId,
  headSeq,
  only,
  nowMs = Date.now(),
}: ConsumersQuery): Consumer[] {
  const names = only === undefined ? listConsumers(env) : [only]
  return names.flatMap(consumer => {
    const file = consumerPath(env, consumer)
    const cursor = readCursorFile(file)
    if (only === undefined && cursor !== undefined && cursor.projectId !== projectId) return []
    const behind = cursor?.projectId === projectId ? Math.max(0, headSeq - cursor.seq) : null
    return [{ consumer, seq: cursor?.seq ?? null, behind, in_use: isHeld(`${file}.lock`, nowMs), file }]
  })
}

function readCursorFile(path: string): ConsumerCursor | undefined {
  try {
    return readConsumer(path)
  } catch {
    return undefined
  }
}

/** A holder touches its lock more often than it becomes stale. */
function isHeld(lock: string, nowMs: number): boolean {
  try {
    return nowMs - statSync(lock).mtimeMs < limits.consumerLockStaleMsMax
  } catch {
    return false
  }
}

/** A consumer's name, held by this process. */
export interface ConsumerLock {
  release(): Promise<void>
}

/** How a name is taken. */
export interface LockOptions {
  /** Called once, when another process holds the name and is waited for. */
  readonly onWait: () => void
  /** Called when another process took the name over, which it may after this one was suspended. */
  readonly onLost: () => void
  readonly signal: AbortSignal
}

/** Between tries. */
const RETRY_MS = 200
/** How far ahead of the clock a holder may have dated its last touch: it finds out how fine file times are that way. */
const TOUCH_AHEAD_MS = 1_100

/**
 * Takes a consumer's name for this process. A dead holder's lock becomes free within the stale time of its last
 * touch, so a holder that outlives that is alive: then `consumer_held`.
 */
export async function lockConsumer(path: string, options: LockOptions): Promise<ConsumerLock> {
  const { lock } = await import('proper-lockfile')
  makeDirectory(dirname(path))
  const stale = limits.consumerLockStaleMsMax
  const until = performance.now() + stale + TOUCH_AHEAD_MS + RETRY_MS
  for (let tries = 0; ; tries++) {
    try {
      const release = await lock(path, { stale, realpath: false, onCompromised: options.onLost })
      // Already lost, or its directory is gone: either way nothing of ours is left to take away.
      return { release: () => release().catch(() => {}) }
    } catch (error) {
      if (codeOf(error) !== 'ELOCKED') throw error
    }
    if (tries === 0) options.onWait()
    if (performance.now() >= until) {
      const name = basename(path).replace(/\.json(\.ack)?$/, '')
      throw new KimError('consumer_held', `another process uses the consumer "${name}"`)
    }
    await sleep(RETRY_MS, undefined, { signal: options.signal })
  }
}

const disk: ReplaceDisk<number> = {
  create: path => openSync(path, 'wx', 0o600),
  write: (fd, bytes) => writeSync(fd, bytes),
  sync: fdatasyncSync,
  close: closeSync,
  rename: renameSync,
  remove: unlinkSync,
}

/**
 * Replaces the file of a cursor. It returns when the new text is durable, so that a process that is about to end can
 * still say how far it came.
 */
export function storeCursor(path: string, text: string): void {
  try {
    makeDirectory(dirname(path))
    const draft = `${path}.${process.pid}.tmp`
    replaceFile(disk, { target: path, draft, chunks: [Buffer.from(text)] })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const code = ['EACCES', 'EPERM'].includes(String(codeOf(error))) ? 'not_permitted' : 'store_failed'
    throw new KimError(code, `cannot store the cursor: ${safeText(why)}`, {
      hint: `the old cursor is kept, so the records printed since will come again; check ${safeText(dirname(path))}`,
      cause: error,
    })
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
