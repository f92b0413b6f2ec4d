/** The system as the producer uses it, so that a test can replace each part: clocks, timers, this process, files. */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import * as os from 'node:os'
import { dirname, resolve, sep } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { ReplaceDisk, Timers } from '@kim/manifest'

export type { Timers } from '@kim/manifest'

/** Time as the writer reads it. Nothing in the journal is ordered by it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  wallMs(): number
  /** Milliseconds of the machine's monotonic clock. */
  monoMs(): number
  /** Milliseconds since the machine booted, sleep included; undefined where the platform cannot say. */
  bootMs?(): number | undefined
}

function monoMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + Math.floor(nanoseconds / 1e6)
}

/** How far two clocks may drift apart before one is read again: what the boot clock is exact to, in ms. */
const BOOT_STEP_MS = 10

/** What has to be added to the monotonic clock to have the time since boot, and when that was so. */
let boot: { readonly wallLessMono: number; readonly bootLessMono: number } | undefined

/**
 * Reading it means opening a file, which is a good part of what a commit of one record costs. It goes as the
 * monotonic clock does but for sleep, and sleep shows as a step of the wall clock: then it is read again.
 */
function bootMs(): number {
  const mono = monoMs()
  const wallLessMono = Date.now() - mono
  if (boot === undefined || Math.abs(wallLessMono - boot.wallLessMono) >= BOOT_STEP_MS) {
    boot = { wallLessMono, bootLessMono: Math.round(os.uptime() * 1000) - mono }
  }
  return Math.max(0, mono + boot.bootLessMono)
}

/** The machine's clocks. */
export const systemClock: Clock = { wallMs: () => Date.now(), monoMs, bootMs }

/** The longest that the platform's own timer can wait; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The event loop's timers. */
export const loopTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 1), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** The end of the current turn of the event loop: what callers asked for within one turn shares one sync. */
export interface Turn {
  /** Calls `run` once, after every callback that is due in this turn. */
  soon(run: () => void): void
}

/** The event loop's own turn. */
export const loopTurn: Turn = { soon: run => void setImmediate(run) }

/** Who this process is, as far as the store has to know. */
export interface Host {
  readonly pid: number
  /** The owner every store file must have; undefined where the platform has no such number. */
  readonly uid: number | undefined
  /** Tells two processes that got the same pid apart. */
  readonly startKey: string
  readonly node: string
  readonly platform: string
}

/**
 * What tells a process from every other that had or will have its pid; undefined where the system does not say, or
 * there is no such process. Field 22 of `/proc/<pid>/stat` is the start time in clock ticks since boot; with the boot id it names one
 * process for good. The command in field 2 may hold spaces and parentheses, so counting starts after the last
 * one.
 */
export function startKeyOf(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return ticks === undefined ? undefined : `${boot}:${ticks}`
  } catch {
    return undefined
  }
}

/** The running process. */
export function currentHost(): Host {
  return {
    pid: process.pid,
    uid: process.getuid?.(),
    startKey: startKeyOf(process.pid) ?? `origin:${Math.round(performance.timeOrigin)}`,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }
}

/** Where unguessable names come from. */
export interface Random {
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string
}

/** The system's random source. */
export const systemRandom: Random = { hex: bytes => randomBytes(bytes).toString('hex') }

/**
 * Has the heap of this process stay close to what is alive in it. A service that waits most of its life would
 * otherwise keep what its largest burst of mail took: V8 trades memory for speed that this service does not need. Both are
 * read whenever the heap is about to grow, so they may be set in a process that runs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** What the writer reads from a `stat`: the part of node's own `Stats` that every adapter can give. */
export interface FileStat {
  readonly size: number
  readonly mode: number
  readonly uid: number
  readonly ino: number
  readonly dev: number
  /** How many names the file has. */
  readonly nlink: number
  isFile(): boolean
  isDirectory(): boolean
  isSymbolicLink(): boolean
  isFIFO(): boolean
}

/**
 * The file system as the writer sees it: a narrow, synchronous part of `node:fs` under the same names and
 * with the same semantics, so that node's own module is the production adapter and a faulty one can take its
 * place in a test. There is no truncate and no positioned write on purpose: nothing written is ever changed.
 *
 * Failures are thrown as node throws them, with `code` (`ENOENT`, `ENOSPC`, …).
 */
export interface FileSystem {
  openSync(path: string, flags: number, mode?: number): number
  closeSync(fd: number): void
  /** Appends at the descriptor's position (files are opened with `O_APPEND`); may write less than `length`. */
  writeSync(fd: number, buffer: Uint8Array, offset: number, length: number): number
  readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number
  fdatasyncSync(fd: number): void
  fsyncSync(fd: number): void
  fstatSync(fd: number): FileStat
  lstatSync(path: string): FileStat
  readdirSync(path: string): string[]
  mkdirSync(path: string, options: { readonly mode: number }): void
  renameSync(from: string, to: string): void
  /** A second name for a file; refused if the name exists, and by file systems without links. */
  linkSync(from: string, to: string): void
  unlinkSync(path: string): void
  fchmodSync(fd: number, mode: number): void
}

/** Rights of users that do not own a file: to do anything, to write. In a directory with `STICKY` they write only their own. */
export const ANYBODY_BUT_OWNER = 0o077
export const WRITABLE_BY_OTHERS = 0o022
export const STICKY = 0o1000

/** The flags an adapter has to understand; the numbers are the platform's own. */
export const openFlags: {
  readonly readOnly: number
  readonly append: number
  readonly create: number
  readonly exclusive: number
  readonly noFollow: number
  readonly nonBlock: number
  readonly directory: number
} = {
  readOnly: fs.constants.O_RDONLY,
  append: fs.constants.O_WRONLY | fs.constants.O_APPEND,
  create: fs.constants.O_CREAT,
  exclusive: fs.constants.O_EXCL,
  // Windows has none of these three; zero leaves the open as it is.
  noFollow: fs.constants.O_NOFOLLOW ?? 0,
  nonBlock: fs.constants.O_NONBLOCK ?? 0,
  directory: fs.constants.O_DIRECTORY ?? 0,
}

/** The production adapter: node's own module. */
export const nodeFileSystem: FileSystem = fs

/** The same file system, with `around` called for each sync of data, so that it can be measured. */
export function aroundSyncs(fs: FileSystem, around: (sync: () => void) => void): FileSystem {
  return { ...fs, fdatasyncSync: fd => around(() => fs.fdatasyncSync(fd)) }
}

/** What replacing a file takes, for files that are no part of a store: failures are the system's own. */
export const plainReplaceDisk: ReplaceDisk<number> = {
  create: path => fs.openSync(path, 'wx', 0o600),
  write: (fd, bytes) => fs.writeSync(fd, bytes),
  sync: fs.fdatasyncSync,
  close: fs.closeSync,
  rename: fs.renameSync,
  remove: fs.unlinkSync,
}

/** The text of a regular file; undefined for anything else, which is neither waited for nor followed. */
export function readPlainFile(path: string): string | undefined {
  const fd = fs.openSync(path, openFlags.readOnly | openFlags.noFollow | openFlags.nonBlock)
  try {
    return fs.fstatSync(fd).isFile() ? fs.readFileSync(fd, 'utf8') : undefined
  } finally {
    fs.closeSync(fd)
  }
}

/** The real path of what exists of a path, with the rest unchanged. */
export function resolveExisting(path: string): string {
  try {
    return fs.realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path
      ? path
      : resolve(resolveExisting(parent), path.slice(parent.length).replace(/^[\\/]+/, ''))
  }
}

/** Whether a path is a directory or below it, with links resolved. */
export function isInside(path: string, directory: string): boolean {
  const real = resolveExisting(resolve(path))
  const home = resolveExisting(resolve(directory))
  return real === home || real.startsWith(home.endsWith(sep) ? home : home + sep)
}
