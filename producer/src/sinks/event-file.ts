import { basename, dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import type { FileStat, FileSystem } from '../effects/file-system.js'
import { noSpace, toFailure, unsafe } from '../journal/failure.js'
import type { Disk } from '../journal/file-ops.js'
import type { Log } from '../journal/log.js'
import { lastLines } from './last-lines.js'
import { lineIdentityOf } from './line-identity.js'
import { isInside } from './output-path.js'
import { makePrivate } from './private-directory.js'

/** What an event file is kept with. */
export interface EventFileParts {
  readonly fs: FileSystem
  readonly disk: Disk
  /** Undefined where the platform has no such number. */
  readonly uid: number | undefined
  readonly log: Log
  /** The store, in which no event file may stand. */
  readonly storeDir: string
  /** Size that a file does not outgrow by more than a line; 0 for any size. */
  readonly bytesMax: number
  /** Rotated files that are kept. */
  readonly keep: number
}

/**
 * How many lines, from the first on, are durable, and why the next one is not. With none to say, what was taken is
 * to be noted before the rest is handed over.
 */
export interface Appended {
  readonly taken: number
  readonly failure: string | undefined
}

const LF = 0x0a
/** What a file that is open is judged by again. */
const JUDGED = ['ino', 'dev', 'uid', 'mode', 'nlink'] as const
const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000
/** Bytes of one write, unless a single line is longer. */
const WRITE_BYTES = 128 * 1024
/** Bytes at the end of a file that are looked through for lines that come again: more than one write (KS-90). */
const TAIL_BYTES = 2 * WRITE_BYTES

/**
 * A file of event lines that others follow: whole lines, appended and never changed, and renamed when it is full.
 * It is opened anew by its name when that has come to mean another file, so whoever rotates or removes it from
 * outside loses nothing.
 */
export class EventFile {
  readonly path: string
  readonly #parts: EventFileParts
  #open: { readonly fd: number; readonly file: FileStat | undefined } | undefined
  #size = 0
  /** The file ends inside a line that a full disk cut: it is ended before the next one begins. */
  #isTorn = false
  /** An earlier process may have been killed between the name and its sync. */
  #isNameDue = true
  /** Only of an earlier process: what this one wrote and could not sync may stand there and be lost all the same. */
  #isTailDue: boolean
  /** What stood at the end when the file was opened first: a process that was killed may not have noted it. */
  #standing: ReadonlySet<string> = new Set()
  #isJudged = false

  /** `isTailTrusted`: what an earlier process wrote last was not refused by the disk. */
  constructor(path: string, parts: EventFileParts, isTailTrusted = true) {
    this.path = path
    this.#parts = parts
    this.#isTailDue = isTailTrusted
  }

  /** Opens the file, or says why it cannot be: a `KimError`. */
  open(): void {
    if (this.#open !== undefined && this.#isUnchanged(this.#open.file)) return
    this.close()
    const { disk, storeDir } = this.#parts
    if (isInside(this.path, storeDir)) throw unsafe(this.path, 'it is inside the store')
    const directory = dirname(this.path)
    makePrivate(disk, directory)
    this.#judge(directory)
    const isFresh = disk.look(this.path) === undefined
    const { fd, stat } = disk.openAppend(this.path, isFresh, ({ nlink }) => {
      if (nlink > 1) throw unsafe(this.path, 'it has a second name (hard link), so it may be any file')
    })
    try {
      this.#isNameDue ||= isFresh
      this.#isTorn = stat.size > 0 && this.#lastByte(stat.size) !== LF
      if (this.#isTailDue) this.#standing = this.#lookBack()
    } catch (error) {
      disk.close(fd)
      throw error
    }
    this.#isTailDue = false
    this.#size = stat.size
    const named = disk.look(this.path)
    this.#open = { fd, file: named?.ino === stat.ino && named.dev === stat.dev ? named : undefined }
  }

  /**
   * Appends as many of the lines (without their `\n`) as one write to one file takes, so that what a kill leaves
   * without a note stands together at the end of that file, where the next process looks for it. `areNoted`: they
   * come again unless they are noted; signs of life do not, and tell nothing about what stands.
   */
  append(lines: readonly string[], areNoted = true): Appended {
    let written = 0
    try {
      if (lines.length === 0) return { taken: 0, failure: undefined }
      this.open()
      if (areNoted) written = this.#countStanding(lines)
      if (written > 0) this.#endTorn()
      else {
        if (this.#isFull(0, lengthOf(lines[0] ?? ''))) this.#rotate()
        const group = lines.slice(0, this.#countFitting(lines))
        written = this.#write(group)
        if (written < group.length) throw noSpace(`write to ${this.path}: the disk is full`)
      }
      this.#sync()
      return { taken: written, failure: undefined }
    } catch (error) {
      const failure = error instanceof KimError ? error.message : String(error)
      return { taken: this.#salvage(written), failure }
    }
  }

  /** How many of the lines, from the first on, stand there already. After one that does not, all are new. */
  #countStanding(lines: readonly string[]): number {
    if (this.#standing.size === 0) return 0
    const first = lines.findIndex(line => !this.#standing.has(lineIdentityOf(line)))
    if (first !== -1) this.#standing = new Set()
    return first === -1 ? lines.length : first
  }

  /** How many of the lines, at least one, go into one write and leave the file within its size. */
  #countFitting(lines: readonly string[]): number {
    let bytes = 0
    let count = 0
    for (const line of lines) {
      const length = lengthOf(line)
      if (count > 0 && (bytes + length > WRITE_BYTES || this.#isFull(bytes, length))) break
      bytes += length
      count++
    }
    return count
  }

  /** The lines at the end, of the newest rotated file too: somebody else may have renamed it meanwhile. */
  #lookBack(): ReadonlySet<string> {
    const { disk } = this.#parts
    return new Set(lastLines(disk, [this.path, `${this.path}.1`], TAIL_BYTES).map(lineIdentityOf))
  }

  close(): void {
    if (this.#open !== undefined) this.#parts.disk.close(this.#open.fd)
    this.#open = undefined
  }

  get #fd(): number {
    if (this.#open === undefined) throw new KimError('internal', `${this.path} is not open`)
    return this.#open.fd
  }

  /** Whole lines that went in before something failed count, if they can be made durable. */
  #salvage(written: number): number {
    if (written === 0 || this.#open === undefined) return 0
    try {
      this.#sync()
      return written
    } catch {
      return 0
    }
  }

  /** Whether the name means the file that was opened, and that is as it was when it was judged. */
  #isUnchanged(file: FileStat | undefined): boolean {
    const stat = this.#parts.disk.look(this.path)
    return file !== undefined && stat !== undefined && JUDGED.every(what => stat[what] === file[what])
  }

  /** Ends what a kill or a full disk cut; it may be a whole line that lacks nothing but this. */
  #endTorn(): void {
    if (!this.#isTorn) return
    const { disk } = this.#parts
    disk.write(this.#fd, Buffer.of(LF), this.path)
    this.#size++
    this.#isTorn = false
  }

  /** Writes lines in one go; says how many of them went in whole. */
  #write(lines: readonly string[]): number {
    const end = this.#isTorn ? '\n' : ''
    const buffer = Buffer.from(`${end}${lines.join('\n')}\n`)
    let count: number
    try {
      count = this.#parts.fs.writeSync(this.#fd, buffer, 0, buffer.length)
    } catch (error) {
      throw toFailure(error, `write to ${this.path}`)
    }
    this.#size += count
    if (count > 0) this.#isTorn = buffer[count - 1] !== LF
    if (count === buffer.length) return lines.length
    let ends = 0
    for (const byte of buffer.subarray(end.length, Math.max(end.length, count))) if (byte === LF) ends++
    // A line that lacks nothing but its end is not written a second time.
    if (count > end.length && buffer[count] === LF)
      this.#standing = new Set([lineIdentityOf(lines[ends] ?? '')])
    return ends
  }

  /** After a failed sync nobody knows what the disk holds: the file is looked at anew, and what is in doubt comes again. */
  #sync(): void {
    const { disk } = this.#parts
    try {
      disk.syncData(this.#fd, this.path)
      if (this.#isNameDue) disk.syncDirectory(dirname(this.path))
    } catch (error) {
      this.close()
      this.#standing = new Set()
      throw error
    }
    this.#isNameDue = false
  }

  #isFull(pending: number, more: number): boolean {
    const { bytesMax } = this.#parts
    const size = this.#size + pending
    return bytesMax > 0 && size > 0 && size + more > bytesMax
  }

  /** Renames what is full and begins anew under the old name. What cannot be renamed goes on growing. */
  #rotate(): void {
    const { disk, keep, log } = this.#parts
    try {
      for (let at = keep - 1; at > 0; at--) {
        if (disk.look(`${this.path}.${at}`) !== undefined)
          disk.rename(`${this.path}.${at}`, `${this.path}.${at + 1}`)
      }
      disk.rename(this.path, `${this.path}.1`)
      this.#isNameDue = true
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      log({
        level: 'warn',
        code: 'not_rotated',
        message: `cannot rotate ${this.path}, so it keeps growing: ${message}`,
      })
      this.#size = 0
      return
    }
    this.open()
  }

  #lastByte(size: number): number | undefined {
    const { disk } = this.#parts
    const { fd } = disk.openRead(this.path)
    try {
      return disk.readAt(fd, this.path, size - 1, 1)[0]
    } finally {
      disk.close(fd)
    }
  }

  /** What is worth a word about where the file stands, once; files that were rotated earlier are private too. */
  #judge(directory: string): void {
    if (this.#isJudged) return
    this.#isJudged = true
    const { disk, log, uid } = this.#parts
    const stat = disk.look(`${directory}/.`)
    if (uid !== undefined && stat !== undefined && isOpenToOthers(stat)) {
      log({
        level: 'warn',
        code: 'unsafe_directory',
        message: `${directory} holds event files, and other users can write to it`,
        hint: 'other users can replace the event files; remove their access to the directory',
      })
    }
    const name = basename(this.path)
    for (const other of disk.names(directory)) {
      if (!other.startsWith(`${name}.`) || !/^\d+$/.test(other.slice(name.length + 1))) continue
      try {
        disk.close(disk.openRead(`${directory}/${other}`).fd)
      } catch {
        // It is not a file of ours, and nothing is done to it.
      }
    }
  }
}

function lengthOf(line: string): number {
  return Buffer.byteLength(line) + 1
}

function isOpenToOthers({ mode }: FileStat): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0
}
