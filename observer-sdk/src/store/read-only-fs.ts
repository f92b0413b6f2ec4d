/** The only calls that open and read files of a store, and their failures as values. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
} from 'node:fs'

/** Why a file or directory of the store could not be read. */
export interface ReadFailure {
  readonly ok: false
  /** `absent`: nothing has that name. `unreadable`: something has, and it cannot be read as what it should be. */
  readonly reason: 'absent' | 'unreadable'
  readonly path: string
  /** The system's error code, or `not_regular`, `symlink`, `bad_gzip`, `too_large`, `no_journal`. */
  readonly code: string
}

/** What a look into the store returns: absence and damage are answers, not exceptions. */
export type ReadResult<T> = { readonly ok: true; readonly value: T } | ReadFailure

/** Wraps a value that was read. */
export function found<T>(value: T): ReadResult<T> {
  return { ok: true, value }
}

/** Names something that exists but cannot be read. */
export function unreadable(path: string, code: string): ReadFailure {
  return { ok: false, reason: 'unreadable', path, code }
}

/** Turns a thrown file-system error into the answer it stands for. */
export function readFailureOf(path: string, error: unknown): ReadFailure {
  const stated = error instanceof Error && 'code' in error ? error.code : undefined
  const code = typeof stated === 'string' ? stated : 'EUNKNOWN'
  return { ok: false, reason: code === 'ENOENT' ? 'absent' : 'unreadable', path, code }
}

// The only flags this package ever opens a store file with. O_NONBLOCK: should a FIFO take the place of
// a file between the look and the open, the open returns at once instead of waiting for a writer.
const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** A regular file held open for reading. */
export interface OpenFile {
  readonly path: string
  readonly fd: number
  /** Length in bytes when it was opened. */
  readonly size: number
  /** Same value, same file: device, inode and birth time. */
  readonly identity: string
}

/** Opens a regular file for reading; a link, a FIFO, a device or a directory is `unreadable`, and never blocks. */
export function openRegularFile(path: string): ReadResult<OpenFile> {
  let fd: number
  try {
    // Without an exception: most files are looked for in two places.
    const before = lstatSync(path, { throwIfNoEntry: false })
    if (before === undefined) return { ok: false, reason: 'absent', path, code: 'ENOENT' }
    if (before.isSymbolicLink()) return unreadable(path, 'symlink')
    if (!before.isFile()) return unreadable(path, 'not_regular')
    fd = openSync(path, openFlags)
  } catch (error) {
    return readFailureOf(path, error)
  }
  try {
    const stat = fstatSync(fd, { bigint: true })
    if (stat.isFile()) return found({ path, fd, size: Number(stat.size), identity: identityOf(stat) })
    closeFile({ fd })
    return unreadable(path, 'not_regular')
  } catch (error) {
    closeFile({ fd })
    return readFailureOf(path, error)
  }
}

/** Same value, same file or directory, whatever its name. */
export function identityOf({ birthtimeNs, dev, ino }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`
}

let failed = 0

/** How many closes of files the system reported as failed, in this process. */
export function failedCloses(): number {
  return failed
}

/**
 * Closes a file that `openRegularFile` opened. Network and FUSE disks report a failure of the connection from close. The descriptor is free all the same, and what
 * was read stays valid, so the failure is counted. EBADF is a descriptor that is not ours: a bug, never a disk.
 */
export function closeFile({ fd }: Pick<OpenFile, 'fd'>): void {
  try {
    closeSync(fd)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === undefined || code === 'EBADF') throw error
    failed++
  }
}

/**
 * Reads up to `length` bytes from `position` into `target` and returns how many there were; fewer only at the
 * end of the file. Throws the system's error.
 */
export function readAt(
  file: OpenFile,
  target: Uint8Array,
  offset: number,
  length: number,
  position: number,
): number {
  let done = 0
  while (done < length) {
    const read = readSync(file.fd, target, offset + done, length - done, position + done)
    if (read === 0) break
    done += read
  }
  return done
}

/** What one call reads from `position` into `target`, up to its length. Throws the system's error. */
export function readOnce(file: OpenFile, target: Uint8Array, position: number): number {
  return readSync(file.fd, target, 0, target.length, position)
}

/** An entry of a directory: only a regular file is ever opened. */
export interface NamedEntry {
  readonly name: string
  readonly kind: 'file' | 'symlink' | 'other'
}

/** The entries of a directory, by name in byte order. */
export function listEntries(path: string): ReadResult<readonly NamedEntry[]> {
  try {
    const entries = readdirSync(path, { withFileTypes: true }).map(
      (entry): NamedEntry => ({
        name: entry.name,
        kind: entry.isFile() ? 'file' : entry.isSymbolicLink() ? 'symlink' : 'other',
      }),
    )
    return found(entries.sort((a, b) => (a.name < b.name ? -1 : 1)))
  } catch (error) {
    return readFailureOf(path, error)
  }
}
