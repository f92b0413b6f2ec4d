import * as fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ReplaceDisk } from '@kim/manifest'

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
export const nodeFileSystem: FileSystem = {
  openSync: (path, flags, mode) => fs.openSync(path, flags, mode),
  closeSync: fd => fs.closeSync(fd),
  writeSync: (fd, buffer, offset, length) => fs.writeSync(fd, buffer, offset, length),
  readSync: (fd, buffer, offset, length, position) => fs.readSync(fd, buffer, offset, length, position),
  fdatasyncSync: fd => fs.fdatasyncSync(fd),
  fsyncSync: fd => fs.fsyncSync(fd),
  fstatSync: fd => fs.fstatSync(fd),
  lstatSync: path => fs.lstatSync(path),
  readdirSync: path => fs.readdirSync(path),
  mkdirSync: (path, options) => {
    fs.mkdirSync(path, { mode: options.mode })
  },
  renameSync: (from, to) => fs.renameSync(from, to),
  linkSync: (from, to) => fs.linkSync(from, to),
  unlinkSync: path => fs.unlinkSync(path),
  fchmodSync: (fd, mode) => fs.fchmodSync(fd, mode),
}

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
