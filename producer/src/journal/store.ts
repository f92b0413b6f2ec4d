/** A store that is made ready for writing: its options, its effects, its directories and its lock. */
import { dirname, join, relative } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { isBlobDirectory, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { Rehearsal, type RehearsedChange } from '../effects/dry-run.js'
import { type HeldLock, kernelLock, lookingLock, type StoreLock, storeHeld } from '../effects/store-lock.js'
import {
  type Clock,
  currentHost,
  type FileSystem,
  type Host,
  nodeFileSystem,
  type Random,
  STICKY,
  systemClock,
  systemRandom,
  type Turn,
  WRITABLE_BY_OTHERS,
} from '../effects/system.js'
import { attempt, failure } from './disk-errors.js'
import { Disk } from './file-ops.js'

/** One thing that an operator should know. */
export interface LogEntry {
  readonly level: 'info' | 'warn' | 'error'
  /** Stable, for machines. */
  readonly code: string
  readonly message: string
  /** What to do about it. */
  readonly hint?: string
}

/** An entry in the log of the service. */
export interface ServiceLogEntry extends LogEntry {
  /** The persona that it is about. */
  readonly persona?: string | undefined
  readonly fields?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** Receives what the journal noticed. Failures are thrown, and not logged here. */
export type Log = (entry: LogEntry) => void

/** How a program opens a journal. */
export interface OpenJournalOptions {
  /** The directory of the store. */
  readonly storeDir: string
  /**
   * The base URL that the store belongs to. A new store keeps it; an existing one must have the same. Without it, an
   * existing journal is opened, and none is created.
   */
  readonly source?: string | undefined
  /** Receives what the journal noticed. By default it is dropped. */
  readonly log?: Log | undefined
  /** A segment is sealed once it has this many bytes. By default 10 MiB. */
  readonly segmentBytes?: number | undefined
  /** False to leave old segments and checkpoints where they are. By default they are moved to `archive/`. */
  readonly gc?: boolean | undefined
  /** True to compress the segments that are moved to `archive/`. */
  readonly gzip?: boolean | undefined
  /** How many read messages of each persona are kept. By default 1000. */
  readonly retainRead?: number | undefined
}

/** The same for the producer and its tests, which can replace every effect. */
export interface JournalOptions extends OpenJournalOptions {
  readonly fs?: FileSystem | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly lock?: StoreLock | undefined
  readonly host?: Host | undefined
  readonly turn?: Turn | undefined
  readonly switches?: Switches | undefined
}

/**
 * Each of these leaves one safeguard out, so that a proof can show that it would notice. They exist for the
 * tests of this repository alone: no flag, no environment variable and no public option reaches them.
 */
export interface Switches {
  /** Nothing is ever made durable. */
  readonly skipFsync?: boolean
  /** State moves and the receipt is made before the sync. */
  readonly receiptBeforeSync?: boolean
  /** New names are not made durable. */
  readonly skipDirectorySync?: boolean
  /** The length of the segment is not compared before a commit. */
  readonly skipLengthCheck?: boolean
  /** A repeated key is appended again. */
  readonly skipKeyLookup?: boolean
  /** Inboxes that may have lost mail to a power loss are not pinned. */
  readonly skipLossPins?: boolean
}

/** What every part of the journal works with: the effects, and the paths of the store. */
export interface Store {
  readonly disk: Disk
  readonly paths: StorePaths
  readonly clock: Clock
  readonly random: Random
  readonly host: Host
  readonly log: Log
  readonly switches: Switches
}

/** The effects and paths that the options name. */
export function makeStore(options: JournalOptions): Store {
  const { host = currentHost(), log = () => undefined, switches = {} } = options
  return {
    disk: new Disk(options.fs ?? nodeFileSystem, host.uid, switches, log),
    paths: storePaths(options.storeDir),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    host,
    log,
    switches,
  }
}

/** Makes sure of the store's directories and takes its lock. */
export function lockedStore(options: JournalOptions): { readonly store: Store; readonly lock: HeldLock } {
  const store = makeStore(options)
  secureStore(store)
  return { store, lock: takeLock(store, options.lock ?? kernelLock) }
}

/** Takes the store's lock for the life of this process, or says who has it. */
function takeLock({ paths, host, clock }: Store, lock: StoreLock): HeldLock {
  const started = new Date(clock.wallMs()).toISOString()
  const holding = { pid: host.pid, start_key: host.startKey, started }
  const answer = attempt(`lock ${paths.lock}`, () => lock.acquire(paths.lock, holding))
  if (!answer.held) throw storeHeld(answer, paths.root)
  return answer
}

/** Gives the store's lock up. */
export function letGo(lock: HeldLock, { paths }: Store): void {
  attempt(`release the lock ${paths.lock}`, () => lock.release())
}

/**
 * Makes the directories of the store that are missing, refuses what only an attacker or an accident would put there,
 * and makes their names durable: the maker of a directory that is there may have died before that.
 */
function secureStore({ disk, paths, host, log }: Store): void {
  disk.makeDirectories(dirname(paths.root))
  const suspect = unsafeAncestor(disk, paths.root, host.uid)
  if (suspect !== undefined) {
    log({
      level: 'warn',
      code: 'unsafe_ancestor',
      message: `other users own or can write to ${suspect}, a directory above the store`,
      hint: `they can replace the store. If the directory is yours: chmod go-w ${suspect}; otherwise choose another store: --store DIR`,
    })
  }
  const directories = [paths.root, paths.events, paths.run, paths.checkpoints, paths.archive, paths.blobs]
  for (const directory of directories) disk.ownDirectory(directory, directory === paths.root)
  for (const name of disk.names(paths.blobs))
    if (isBlobDirectory(name)) disk.ownDirectory(join(paths.blobs, name))
  if (disk.look(paths.quarantine) !== undefined) disk.ownDirectory(paths.quarantine)
  disk.syncDirectory(dirname(paths.root))
  disk.syncDirectory(paths.root)
  disk.syncDirectory(paths.events)
}

/** A directory above the store whose owner, or whose other writers, could put another store in its place. */
function unsafeAncestor(disk: Disk, store: string, uid: number | undefined): string | undefined {
  for (let path = dirname(store); ; path = dirname(path)) {
    // The trailing dot asks about what a link leads to: that is where the store lies.
    const stat = disk.look(`${path}/.`)
    if (stat !== undefined) {
      const foreign = uid !== undefined && stat.uid !== uid && stat.uid !== 0
      const shared = (stat.mode & WRITABLE_BY_OTHERS) !== 0 && (stat.mode & STICKY) === 0
      if (foreign || shared) return path
    }
    if (path === dirname(path)) return undefined
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** One text for every spelling of a base URL: what a store's genesis note names. */
export function canonicalSource(url: string): string {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch (cause) {
    throw new KimError('config_invalid', `${JSON.stringify(url)} is not a URL`, { cause })
  }
  const host = LOOPBACK.has(parsed.hostname) ? 'localhost' : parsed.hostname
  const port = parsed.port === '' ? '' : `:${parsed.port}`
  return `${parsed.protocol}//${host}${port}${parsed.pathname.replace(/\/+$/, '')}`
}

/** Refuses to mix two sources in one store. */
export function checkSource(store: string, recorded: string, given: string): void {
  if (canonicalSource(recorded) === canonicalSource(given)) return
  throw failure(
    'source_mismatch',
    `the store ${store} belongs to ${canonicalSource(recorded)}, not to ${canonicalSource(given)}`,
    `nothing was appended; ${sourceRemedy(store, recorded, given)}`,
  )
}

/** What to do about a store that belongs to another source. Its first record names it, and never changes (JF-10). */
export function sourceRemedy(store: string, recorded: string, given: string): string {
  const [theirs, ours] = [canonicalSource(recorded), canonicalSource(given)]
  const aside = `mv ${shellWord(store)} ${shellWord(`${store}.old`)}`
  return `to follow that server: --url ${theirs} (with its other flags); to follow ${ours} too: another store with --store DIR; to replace the store, stop its producer, then: ${aside}`
}

/**
 * Turns a run into its rehearsal: options for the same code, over a file system that writes nothing. `changes` returns what
 * would have been written so far, with paths relative to the store.
 */
export function rehearse<T extends JournalOptions>(
  options: T,
): { readonly options: T; changes(): readonly RehearsedChange[] } {
  const { host = currentHost(), lock = lookingLock } = options
  const fs = new Rehearsal(options.fs ?? nodeFileSystem, host.uid)
  const inStore = (path: string): string => relative(options.storeDir, path) || '.'
  const relativeTo = (change: RehearsedChange): RehearsedChange => ({
    ...change,
    path: inStore(change.path),
    ...(change.from === undefined ? {} : { from: inStore(change.from) }),
  })
  return { options: { ...options, host, fs, lock }, changes: () => fs.changes().map(relativeTo) }
}
