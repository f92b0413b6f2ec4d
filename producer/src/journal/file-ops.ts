import { basename, dirname, join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { type KimError, type ReplaceDisk, replaceFile, tempName } from '@kim/manifest'
import {
  ANYBODY_BUT_OWNER,
  type FileStat,
  type FileSystem,
  openFlags,
  WRITABLE_BY_OTHERS,
} from '../effects/system.js'
import {
  attempt,
  damaged,
  foreignOwner,
  linkRemedy,
  noSpace,
  syncFailed,
  systemCode,
  toFailure,
  unsafe,
} from './disk-errors.js'
import type { Log, Switches } from './store.js'

/** Bytes of one read: the fewest, also where a file is expected to end, and the most. */
const READ_BYTES_MIN = 1024
const READ_BYTES_MAX: number = 256 * 1024

/** What systems answer where files have one name only: FAT, some network disks, and exFAT on Windows (EISDIR). */
const NO_LINKS: ReadonlySet<string> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EISDIR',
])

const FILE_MODE = 0o600
const DIRECTORY_MODE = 0o700

/** A descriptor, and what it is open on. */
interface OpenFile {
  readonly fd: number
  readonly stat: FileStat
}

/**
 * Every durable step of the writer, named for what it guarantees: the only file that knows `fsync`. Each failure leaves
 * as a typed error. A failed sync is never swallowed and never tried again: after it, what the disk holds is unknown.
 */
export class Disk {
  readonly #fs: FileSystem
  readonly #uid: number | undefined
  readonly #switches: Switches
  readonly #log: Log

  constructor(fs: FileSystem, uid: number | undefined, switches: Switches, log: Log) {
    this.#fs = fs
    this.#uid = uid
    this.#log = log
    this.#switches = switches
  }

  /** What is under a path, links not followed; undefined if nothing is. */
  look(path: string): FileStat | undefined {
    return attempt(`read the attributes of ${path}`, () => unlessMissing(() => this.#fs.lstatSync(path)))
  }

  /** The names in a directory; none if it is not there. */
  names(path: string): string[] {
    return attempt(`list ${path}`, () => unlessMissing(() => this.#fs.readdirSync(path)) ?? [])
  }

  /**
   * Makes a missing directory of the store. One that is there is refused if it is a link or somebody else's, or if others
   * can write to it; if others can only read it, they lose that right.
   */
  ownDirectory(path: string, isStore = false): void {
    const stat = this.look(path)
    if (stat === undefined) {
      this.makeDirectory(path)
      return
    }
    if (stat.isSymbolicLink())
      throw unsafe(path, 'it is a symbolic link', isStore ? linkRemedy(path) : undefined)
    if (!stat.isDirectory()) throw unsafe(path, 'it is not a directory')
    // Without user numbers (Windows) the mode bits say nothing either; the directory's own ACL guards it.
    if (this.#uid === undefined) return
    if (stat.uid !== this.#uid) throw foreignOwner(path, stat.uid, this.#uid, true)
    if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
      // Not done unasked: what others put there meanwhile would then look like the store's own.
      const remedy = `check that every file in it is yours: ls -la ${shellWord(path)}; then: chmod 700 ${shellWord(path)}, or kim-producer doctor --fix with the same --store`
      throw unsafe(path, `other users can write to it (mode ${mode})`, remedy)
    }
    if ((stat.mode & ANYBODY_BUT_OWNER) === 0) return
    this.#tightenDirectory(path)
    this.#tightened(`${path} was readable by other users; changed its mode to 0700`)
  }

  /** Makes a directory of ours, 0700 whatever the umask is. Its name is durable after `syncDirectory(parent)`. */
  makeDirectory(path: string): void {
    attempt(`make the directory ${path}`, () => {
      this.#fs.mkdirSync(path, { mode: DIRECTORY_MODE })
      if (this.#uid !== undefined) this.#tightenDirectory(path)
    })
  }

  /** Makes a directory and its missing parents, each 0700 and durable. Those that are there are not checked or changed. */
  makeDirectories(path: string): void {
    // The trailing dot makes the system follow a link.
    if (this.look(`${path}/.`) !== undefined) return
    this.makeDirectories(dirname(path))
    this.makeDirectory(path)
    this.syncDirectory(dirname(path))
  }

  /** Takes every right from everybody but the owner. */
  #tightenDirectory(path: string): void {
    attempt(`set the mode of ${path}`, () => {
      const fd = this.#fs.openSync(path, openFlags.readOnly | openFlags.directory | openFlags.noFollow)
      try {
        this.#fs.fchmodSync(fd, DIRECTORY_MODE)
      } finally {
        this.close(fd)
      }
    })
  }

  #tightened(message: string): void {
    this.#log({ level: 'warn', code: 'tightened', message })
  }

  /** Makes the names in a directory durable. */
  syncDirectory(path: string): void {
    // Windows cannot open a directory; there the file system's own journal has to do.
    if (this.#switches.skipDirectorySync === true || this.#uid === undefined) return
    const flags = openFlags.readOnly | openFlags.directory
    const fd = attempt(`open the directory ${path}`, () => this.#fs.openSync(path, flags))
    try {
      sync(path, () => this.#fs.fsyncSync(fd))
    } finally {
      this.close(fd)
    }
  }

  /**
   * Opens a file for appending and nothing else. `fresh` creates it and refuses one that is there; `judge` refuses one
   * by throwing, before anything about it is changed.
   */
  openAppend(path: string, fresh: boolean, judge?: (stat: FileStat) => void): OpenFile {
    const made = fresh ? openFlags.create | openFlags.exclusive : 0
    return this.#openFile(path, openFlags.append | made, judge)
  }

  /** Opens a file for reading. The caller closes it. */
  openRead(path: string): OpenFile {
    return this.#openFile(path, openFlags.readOnly)
  }

  /** The descriptor is checked, not the path: what was opened is what is judged. */
  #openFile(path: string, flags: number, judge?: (stat: FileStat) => void): OpenFile {
    let fd: number
    try {
      fd = this.#fs.openSync(path, flags | openFlags.noFollow | openFlags.nonBlock, FILE_MODE)
    } catch (error) {
      throw this.#foreign(error, path) ?? toFailure(error, `open ${path}`)
    }
    try {
      const stat = this.#fs.fstatSync(fd)
      if (!stat.isFile()) throw unsafe(path, 'it is not a regular file')
      if (this.#uid !== undefined && stat.uid !== this.#uid) throw foreignOwner(path, stat.uid, this.#uid)
      judge?.(stat)
      if (this.#uid !== undefined && (stat.mode & 0o777) !== FILE_MODE) this.#tighten(fd, stat, path)
      return { fd, stat }
    } catch (error) {
      this.close(fd)
      throw toFailure(error, `open ${path}`)
    }
  }

  /** The refusal of a file that is there and is another user's, as root leaves one. */
  #foreign(error: unknown, path: string): KimError | undefined {
    if (this.#uid === undefined || systemCode(error) !== 'EACCES') return undefined
    const owner = this.look(path)?.uid
    return owner === undefined || owner === this.#uid ? undefined : foreignOwner(path, owner, this.#uid)
  }

  #tighten(fd: number, stat: FileStat, path: string): void {
    this.#fs.fchmodSync(fd, FILE_MODE)
    if ((stat.mode & ANYBODY_BUT_OWNER) === 0) return
    this.#tightened(`${path} was accessible to other users; changed its mode to 0600`)
  }

  /**
   * Closes a descriptor. What had to be durable was synced before, and the system takes the descriptor even when it
   * reports an error, so such an error is ignored.
   */
  close(fd: number): void {
    try {
      this.#fs.closeSync(fd)
    } catch (error) {
      if (systemCode(error) === undefined) throw error
    }
  }

  /** One write of all the bytes. Fewer taken is the disk saying that it is full. */
  write(fd: number, bytes: Uint8Array, path: string): void {
    const written = attempt(`write to ${path}`, () => this.#fs.writeSync(fd, bytes, 0, bytes.length))
    if (written === bytes.length) return
    throw noSpace(`write to ${path}: only ${written} of ${bytes.length} bytes were written`)
  }

  /** Makes a file's bytes durable. */
  syncData(fd: number, path: string): void {
    if (this.#switches.skipFsync !== true) sync(path, () => this.#fs.fdatasyncSync(fd))
  }

  /** Makes a new file's bytes and size durable. */
  syncFile(fd: number, path: string): void {
    if (this.#switches.skipFsync !== true) sync(path, () => this.#fs.fsyncSync(fd))
  }

  /** Reads exactly `length` bytes at `position`; fewer mean that the file is not what it was. */
  readAt(fd: number, path: string, position: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length)
    let done = 0
    while (done < length) {
      const count = this.#readSome(fd, path, buffer, done, length - done, position + done)
      if (count === 0) throw damaged(`${path} ends before byte ${position + length}`)
      done += count
    }
    return buffer
  }

  #readSome(fd: number, path: string, buffer: Buffer, offset: number, length: number, at: number): number {
    return attempt(`read ${path}`, () => this.#fs.readSync(fd, buffer, offset, length, at))
  }

  /**
   * The bytes of a file from a position to its end, in chunks the caller may keep; or, into memory of the caller's, in
   * chunks that are valid until the next one is asked for.
   */
  *fileChunks(path: string, from = 0, into?: Buffer): Generator<Buffer> {
    const { fd, stat } = this.openRead(path)
    try {
      for (let at = from; ; ) {
        // Not much more memory than the file has bytes left.
        const length = Math.min(Math.max(stat.size - at, READ_BYTES_MIN), READ_BYTES_MAX)
        const buffer = into ?? Buffer.allocUnsafe(length)
        const count = this.#readSome(fd, path, buffer, 0, buffer.length, at)
        if (count === 0) return
        at += count
        yield buffer.subarray(0, count)
      }
    } finally {
      this.close(fd)
    }
  }

  /** A whole file; undefined if it is not there. */
  readWhole(path: string): Buffer | undefined {
    if (this.look(path) === undefined) return undefined
    return Buffer.concat([...this.fileChunks(path)])
  }

  /** A whole file that is not expected to be large; undefined if it is not there or larger than that. */
  readSmall(path: string, bytesMax: number): Buffer | undefined {
    const stat = this.look(path)
    if (stat === undefined || stat.size > bytesMax) return undefined
    const [bytes = Buffer.alloc(0)] = this.fileChunks(path)
    return bytes
  }

  /** Starts a temporary file; a file of that name is a leftover and is removed. */
  createTemp(path: string): number {
    if (this.look(path) !== undefined) this.removeNow(path)
    return this.#openFile(path, openFlags.append | openFlags.create | openFlags.exclusive).fd
  }

  /** Gives a synced file its name, durably: afterwards either the old or the new file has it, whole. */
  publish(temp: string, target: string): void {
    this.rename(temp, target)
    this.syncDirectory(dirname(target))
  }

  /** A file with these bytes under this name, whole and durable, or the old state of affairs. */
  writeDurably(temp: string, target: string, chunks: Iterable<Uint8Array>): void {
    const disk: ReplaceDisk<number> = {
      ...this.#replacing(temp),
      sync: fd => this.syncFile(fd, temp),
      syncDirectory: path => this.syncDirectory(path),
    }
    replaceFile(disk, { target, draft: temp, chunks })
  }

  /** Replaces a file that nothing relies on: whole or not at all, but not durable. */
  writeLoosely(temp: string, target: string, bytes: Uint8Array): void {
    replaceFile(this.#replacing(temp), { target, draft: temp, chunks: [bytes] })
  }

  /** What replacing a file takes, with the failures of this class. */
  #replacing(temp: string): ReplaceDisk<number> {
    return {
      create: path => this.createTemp(path),
      write: (fd, bytes) => {
        this.write(fd, bytes, temp)
        return bytes.length
      },
      close: fd => this.close(fd),
      rename: (from, to) => this.rename(from, to),
      remove: path => this.removeNow(path),
    }
  }

  rename(from: string, to: string): void {
    attempt(`rename ${from} to ${to}`, () => this.#fs.renameSync(from, to))
  }

  /**
   * Moves a file of the journal to another directory so that its bytes are in at least one place, also after a loss of
   * power on a file system that makes two changes of a rename (RC-17).
   */
  archive(from: string, to: string): void {
    if (!this.#link(from, to))
      this.writeDurably(join(dirname(to), tempName(basename(to))), to, this.fileChunks(from))
    this.syncDirectory(dirname(to))
    this.removeNow(from)
    this.syncDirectory(dirname(from))
  }

  /** True where both names are of one file afterwards; false where the bytes have to be copied. */
  #link(from: string, to: string): boolean {
    try {
      this.#fs.linkSync(from, to)
      return true
    } catch (error) {
      const code = systemCode(error)
      if (code === 'EEXIST') return this.#isSameFile(from, to)
      if (code !== undefined && NO_LINKS.has(code)) return false
      throw toFailure(error, `link ${from} to ${to}`)
    }
  }

  /** A move that did not finish leaves both names. */
  #isSameFile(one: string, other: string): boolean {
    const [a, b] = [this.look(one), this.look(other)]
    return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev
  }

  /**
   * Moves what may be anything (a pipe, a directory, another user's file) out of the way. It is a rename, because a link
   * to some of these cannot be made.
   */
  move(from: string, to: string): void {
    this.rename(from, to)
    this.syncDirectory(dirname(to))
    this.syncDirectory(dirname(from))
  }

  /** Removes a name; durable after `syncDirectory`. */
  removeNow(path: string): void {
    try {
      this.#fs.unlinkSync(path)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw toFailure(error, `remove ${path}`)
    }
  }
}

/** What a call returns; undefined if the system says that the path does not exist. */
function unlessMissing<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** A sync that the system reports as failed ends the writer; other errors (a death that a test injects) pass. */
function sync(path: string, call: () => void): void {
  try {
    call()
  } catch (error) {
    const code = systemCode(error)
    throw code === undefined ? error : syncFailed(`cannot make ${path} durable: ${code}`, error)
  }
}
