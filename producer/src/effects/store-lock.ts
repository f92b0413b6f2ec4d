/** The lock of a store: one process at a time writes it. */
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { isProcessAlive } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { everyStep, regardless } from './every-step.js'
import { openFlags } from './system.js'

/** The content of the lock file, for people: the lock itself is the kernel's. */
export interface LockHolder {
  readonly pid: number
  readonly start_key: string
  /** RFC 3339, UTC. */
  readonly started: string
}

/** A lock this process holds. */
export interface HeldLock {
  readonly held: true
  /**
   * False once the lock file was removed or replaced, so that another process could lock the new one. Throws as node
   * does if the path cannot be read: that says nothing about the lock.
   */
  intact(): boolean
  release(): void
}

/** The answer of an `acquire` that came second. `holder` is undefined where the file does not say. */
export interface LockRefused {
  readonly held: false
  readonly holder: LockHolder | undefined
}

/** Says who holds the store that another process wants. */
export function storeHeld({ holder }: LockRefused, root: string): KimError {
  const who =
    holder === undefined ? 'another process' : `process ${holder.pid}, which started ${holder.started},`
  return new KimError('store_held', `${who} holds the store ${root}`, {
    hint: 'nothing was changed; only one process at a time can write a store. Stop the producer (kim-producer shutdown, with the same --store) or let the other command end, then repeat this; a second producer needs another store: --store DIR',
  })
}

/** One writer a store. A second `acquire` on one path is refused at once, whatever process it comes from. */
export interface StoreLock {
  acquire(path: string, holder: LockHolder): HeldLock | LockRefused
}

interface NativeExtensions {
  tryLock(fd: number, options?: { readonly shared: boolean }): boolean
  unlock(fd: number): void
}

const native = createRequire(import.meta.url)('fs-native-extensions') as NativeExtensions

const LOCK_FILE_BYTES_MAX = 4096

/** How long a holder may take between getting the lock and writing who it is, on a machine with much to do. */
const NAMING_MS_MAX = 1000
const NAMING_STEP_MS = 5

const sleeper = new Int32Array(new SharedArrayBuffer(4))

function readHolder(fd: number): LockHolder | undefined {
  const buffer = Buffer.alloc(LOCK_FILE_BYTES_MAX)
  const length = fs.readSync(fd, buffer, 0, buffer.length, 0)
  try {
    // The text of an earlier holder may have been longer and follow the first line for a moment.
    const [line = ''] = buffer.toString('utf8', 0, length).split('\n', 1)
    const value = JSON.parse(line) as Partial<LockHolder> | null
    if (typeof value?.pid !== 'number' || typeof value.started !== 'string') return undefined
    return { pid: value.pid, start_key: String(value.start_key), started: value.started }
  } catch {
    return undefined
  }
}

function isAt(path: string, own: fs.Stats): boolean {
  try {
    const found = fs.lstatSync(path)
    return found.ino === own.ino && found.dev === own.dev
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return false
    throw error
  }
}

/**
 * A full disk may cost the text for people, never the lock. The file is cut after the write, not before, so that
 * no reader finds it empty.
 */
function writeHolder(fd: number, holder: LockHolder): void {
  fs.fchmodSync(fd, 0o600)
  try {
    fs.ftruncateSync(fd, fs.writeSync(fd, `${JSON.stringify(holder)}\n`, 0))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
    fs.ftruncateSync(fd, 0)
  }
}

/**
 * A kernel file lock: two holders are impossible, and the system releases it at the death of its holder,
 * however that comes. It locks an open file, so a lock file that was unlinked meanwhile locks nothing: the
 * path is checked again after the lock is taken, and before each commit.
 */
export const kernelLock: StoreLock = {
  acquire(path, holder) {
    const flags = fs.constants.O_RDWR | openFlags.create | openFlags.noFollow | openFlags.nonBlock
    const deadline = performance.now() + NAMING_MS_MAX
    for (;;) {
      const fd = fs.openSync(path, flags, 0o600)
      const own = fs.fstatSync(fd)
      try {
        if (!own.isFile()) throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EFTYPE' })
        if (!native.tryLock(fd)) {
          const found = readHolder(fd)
          fs.closeSync(fd)
          // A process that just took the lock has not written its name yet: the file is empty, or names the holder before,
          // which has ended. The pid of a holder in another container means nothing here, so at the deadline the name counts.
          if ((found !== undefined && isProcessAlive(found.pid)) || performance.now() > deadline) {
            return { held: false, holder: found }
          }
          Atomics.wait(sleeper, 0, 0, NAMING_STEP_MS)
          continue
        }
        if (!isAt(path, own)) {
          fs.closeSync(fd)
          continue
        }
        writeHolder(fd, holder)
      } catch (error) {
        regardless(() => fs.closeSync(fd))
        throw error
      }
      return {
        held: true,
        intact: () => isAt(path, own),
        release: () =>
          everyStep(
            // A process may live on after it let go; it must not be taken for the next holder.
            () => fs.ftruncateSync(fd, 0),
            () => native.unlock(fd),
            () => fs.closeSync(fd),
          ),
      }
    }
  },
}

/**
 * For a reader: refused while a writer holds the lock, and refuses writers while it is held, but makes no
 * file and writes nothing into one. Where there is no lock file there is no writer.
 */
export const lookingLock: StoreLock = {
  acquire(path) {
    let fd: number
    try {
      fd = fs.openSync(path, openFlags.readOnly | openFlags.noFollow | openFlags.nonBlock)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      return { held: true, intact: () => true, release: () => undefined }
    }
    if (!native.tryLock(fd, { shared: true })) {
      const holder = readHolder(fd)
      fs.closeSync(fd)
      return { held: false, holder }
    }
    return { held: true, intact: () => true, release: () => fs.closeSync(fd) }
  },
}
