import { basename, dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import type { FileStat, FileSystem } from '../effects/file-system.js'
import { noSpace, toFailure, unsafe } from '../journal/failure.js'
import type { Disk } from '../journal/file-ops.js'
import type { Log } from '../journal/log.js'
import { lastLines } from './last-lines.js'
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

/** How many lines, from the first on, are durable, and why the next one is not. */
export interface Appended {
  readonly taken: number
  readonly failure: string | undefined
}

const LF = 0x0a
const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000
/** Bytes of one write. */
const WRITE_BYTES = 64 * 1024
/** Bytes at the end of a file that are looked through for lines that come again. */
const TAIL_BYTES = 256 * 1024

/**
 * A file of event lines that others follow: whole lines, appended and never changed, and renamed when it is full.
 * It is opened anew by its name when that has come to mean another file, so whoever rotates or removes it from
 * outside loses nothing.
 */
export class EventFile {
  readonly path: string
  readonly #parts: EventFileParts
  #open: { readonly fd: number; readonly ino: number; readonly dev: number } | undefined
  #size = 0
  /** The file ends inside a line that a full disk cut: it is ended before the next one begins. */
  #isTorn = false
  #isNameDue = false
  /** Only of an earlier process: what this one wrote and could not sync may stand there and be lost all the same. */
  #isTailDue: boolean
  /** Lines at the end when the file was opened first: a process that was killed may not have noted them. */
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
    if (this.#open !== undefined && this.#isStillThere(this.#open)) return
    this.close()
    const { disk, storeDir } = this.#parts
    if (isInside(this.path, storeDir)) throw unsafe(this.path, 'it is at or below the store')
    const directory = dirname(this.path)
    makePrivate(disk, directory)
    this.#judge(directory)
    const isFresh = disk.look(this.path) === undefined
    const { fd, stat } = disk.openAppend(this.path, isFresh)
    if (stat.nlink > 1) {
      disk.close(fd)
      throw unsafe(this.path, 'it has another name besides, and may be anything')
    }
    this.#open = { fd, ino: stat.ino, dev: stat.dev }
    this.#size = stat.size
    this.#isNameDue ||= isFresh
    this.#isTorn = stat.size > 0 && this.#lastByte(stat.size) !== LF
    if (this.#isTailDue) this.#standing = lastLines(disk, [this.path, `${this.path}.1`], TAIL_BYTES)
    this.#isTailDue = false
  }

  /** Appends lines (without their `\n`), rotating between two of them where it is time. */
  append(lines: readonly string[]): Appended {
    let written = 0
    let durable = 0
    try {
      this.open()
      written = this.#countStanding(lines)
      let group: string[] = []
      let bytes = 0
      const flush = (): void => {
        if (group.length === 0) return
        const whole = this.#write(group)
        written += whole
        if (whole < group.length) throw noSpace(`write to ${this.path}: the disk is full`)
        group = []
        bytes = 0
      }
      for (const line of lines.slice(written)) {
        const length = Buffer.byteLength(line) + 1
        if (this.#isFull(this.#size + bytes, length)) {
          flush()
          this.#sync()
          durable = written
          this.#rotate()
        } else if (bytes + length > WRITE_BYTES) flush()
        group.push(line)
        bytes += length
      }
      flush()
      this.#sync()
      return { taken: written, failure: undefined }
    } catch (error) {
      const failure = error instanceof KimError ? error.message : String(error)
      return { taken: Math.max(durable, this.#salvage(written)), failure }
    }
  }

  /** How many of the lines, from the first on, stand there already. After one that does not, all are new. */
  #countStanding(lines: readonly string[]): number {
    const first = lines.findIndex(line => !this.#standing.has(line))
    if (first !== -1) this.#standing = new Set()
    return first === -1 ? lines.length : first
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

  #isStillThere({ ino, dev }: { readonly ino: number; readonly dev: number }): boolean {
    const stat = this.#parts.disk.look(this.path)
    return stat !== undefined && stat.ino === ino && stat.dev === dev
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
      throw error
    }
    this.#isNameDue = false
  }

  #isFull(size: number, more: number): boolean {
    const { bytesMax } = this.#parts
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
      log({ level: 'warn', code: 'not_rotated', message: `${this.path} goes on growing: ${message}` })
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
        message: `${directory} holds event files, and others may write to it`,
        hint: 'whoever may write there can put another file in their place',
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

function isOpenToOthers({ mode }: FileStat): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0
}
