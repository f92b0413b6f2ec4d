import { basename, dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import { type FileStat, type FileSystem, isInside, STICKY, WRITABLE_BY_OTHERS } from '../effects/system.js'
import { noSpace, toFailure, unsafe } from '../journal/disk-errors.js'
import type { Disk } from '../journal/file-ops.js'
import type { Log } from '../journal/store.js'
import type { Delivery } from './sink.js'

/** What an event file is written with. */
export interface EventFileParts {
  readonly fs: FileSystem
  readonly disk: Disk
  /** Undefined on platforms without user numbers. */
  readonly uid: number | undefined
  readonly log: Log
  /** No event file may be in the store. */
  readonly storeDir: string
  /** The file is rotated at this size; 0 for never. */
  readonly bytesMax: number
  /** The number of rotated files to keep. */
  readonly keep: number
}

const LF = 0x0a
/** If one of these changes, the file must be opened again. */
const IDENTITY = ['ino', 'dev', 'uid', 'mode', 'nlink'] as const
/** The most bytes of one write, unless a single line is longer. */
const WRITE_BYTES = 128 * 1024
/** The bytes at the end of a file in which repeated lines are searched: more than one write (KS-90). */
const TAIL_BYTES = 2 * WRITE_BYTES

/**
 * A file of event lines that other programs follow. Lines are appended whole and never changed, and a full file is
 * rotated. If another program rotates or removes the file, it is opened again by its name, so no line is lost.
 */
export class EventFile {
  readonly path: string
  readonly #parts: EventFileParts
  #open: { readonly fd: number; readonly file: FileStat | undefined } | undefined
  #size = 0
  /** The file ends inside a line that a full disk cut: a line feed is written before the next line. */
  #isTorn = false
  /** The directory must be synced. True at first: an earlier process may have been killed before it did. */
  #isNameDue = true
  /** The last lines must be read. Only those of an earlier process: the disk may still lose what this one could not sync. */
  #isTailDue: boolean
  /** The last lines of an earlier process, by identity: if it was killed, its watermark may not include them. */
  #writtenBefore: ReadonlySet<string> = new Set()
  #isDirectoryChecked = false

  /** `isTailTrusted`: the last write of the earlier process did not fail. */
  constructor(path: string, parts: EventFileParts, isTailTrusted = true) {
    this.path = path
    this.#parts = parts
    this.#isTailDue = isTailTrusted
  }

  /** Opens the file, or throws a `KimError` that says why not. */
  open(): void {
    if (this.#open !== undefined && this.#isUnchanged(this.#open.file)) return
    this.close()
    const { disk, storeDir } = this.#parts
    if (isInside(this.path, storeDir)) throw unsafe(this.path, 'it is inside the store')
    const directory = dirname(this.path)
    disk.makeDirectories(directory)
    this.#checkDirectory(directory)
    const isFresh = disk.look(this.path) === undefined
    const { fd, stat } = disk.openAppend(this.path, isFresh, ({ nlink }) => {
      if (nlink > 1)
        throw unsafe(
          this.path,
          'it has a second name (hard link): writing to it could change a file elsewhere',
        )
    })
    try {
      this.#isNameDue ||= isFresh
      this.#isTorn = stat.size > 0 && endOf(disk, this.path, 1).bytes[0] !== LF
      if (this.#isTailDue) {
        // The newest rotated file too: another program may have rotated the file meanwhile.
        const last = lastLines(disk, [this.path, `${this.path}.1`], TAIL_BYTES)
        this.#writtenBefore = new Set(last.map(lineIdentityOf))
      }
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
   * Appends as many of the lines (without their `\n`) as one write takes. If the process is killed before it stores its
   * watermark, these lines are at the end of the file, where the next process finds them. `areNoted` is false for
   * heartbeats, which have no watermark.
   */
  append(lines: readonly string[], areNoted = true): Delivery {
    let written = 0
    try {
      if (lines.length === 0) return { taken: 0, failure: undefined }
      this.open()
      if (areNoted) written = this.#countWritten(lines)
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

  /** How many of the lines, from the first on, the file holds already. After the first new line, all are new. */
  #countWritten(lines: readonly string[]): number {
    if (this.#writtenBefore.size === 0) return 0
    const first = lines.findIndex(line => !this.#writtenBefore.has(lineIdentityOf(line)))
    if (first !== -1) this.#writtenBefore = new Set()
    return first === -1 ? lines.length : first
  }

  /** How many of the lines, at least one, fit into one write and the size of the file. */
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

  close(): void {
    if (this.#open !== undefined) this.#parts.disk.close(this.#open.fd)
    this.#open = undefined
  }

  get #fd(): number {
    if (this.#open === undefined) throw new KimError('internal', `${this.path} is not open`)
    return this.#open.fd
  }

  /** Lines that were written whole before an error count, if they can be made durable. */
  #salvage(written: number): number {
    if (written === 0 || this.#open === undefined) return 0
    try {
      this.#sync()
      return written
    } catch {
      return 0
    }
  }

  /** Whether the path still leads to the file that is open, with the same owner and mode. */
  #isUnchanged(file: FileStat | undefined): boolean {
    const stat = this.#parts.disk.look(this.path)
    return file !== undefined && stat !== undefined && IDENTITY.every(what => stat[what] === file[what])
  }

  /** Ends a line that a kill or a full disk cut. It may be whole but for its line feed. */
  #endTorn(): void {
    if (!this.#isTorn) return
    const { disk } = this.#parts
    disk.write(this.#fd, Buffer.of(LF), this.path)
    this.#size++
    this.#isTorn = false
  }

  /** Writes lines with one write. Returns how many of them were written whole. */
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
    // A line that lacks only its line feed is not written again.
    if (count > end.length && buffer[count] === LF)
      this.#writtenBefore = new Set([lineIdentityOf(lines[ends] ?? '')])
    return ends
  }

  /** After a failed sync it is unknown what the disk holds: the file is opened again, and the lines are written again. */
  #sync(): void {
    const { disk } = this.#parts
    try {
      disk.syncData(this.#fd, this.path)
      if (this.#isNameDue) disk.syncDirectory(dirname(this.path))
    } catch (error) {
      this.close()
      this.#writtenBefore = new Set()
      throw error
    }
    this.#isNameDue = false
  }

  #isFull(pending: number, more: number): boolean {
    const { bytesMax } = this.#parts
    const size = this.#size + pending
    return bytesMax > 0 && size > 0 && size + more > bytesMax
  }

  /** Renames a full file and begins a new one. A file that cannot be renamed keeps growing. */
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

  /** Warns once about an unsafe directory. Opening the files that were rotated earlier makes them private too. */
  #checkDirectory(directory: string): void {
    if (this.#isDirectoryChecked) return
    this.#isDirectoryChecked = true
    const { disk, log, uid } = this.#parts
    const stat = disk.look(`${directory}/.`)
    const mode = stat?.mode ?? 0
    if (uid !== undefined && (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) {
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
        // It is not a file of ours.
      }
    }
  }
}

function lengthOf(line: string): number {
  return Buffer.byteLength(line) + 1
}

/**
 * The last lines of files, the newest file first, up to this many bytes in all; also a line without its line feed. Only
 * the newest file must be readable: an older one may belong to another user.
 */
function lastLines(disk: Disk, paths: readonly string[], bytesMax: number): string[] {
  const lines: string[] = []
  let left = bytesMax
  for (const [at, path] of paths.entries()) {
    try {
      if (left <= 0 || disk.look(path) === undefined) continue
      const { bytes, isWhole } = endOf(disk, path, left)
      left -= bytes.length
      // Bytes that do not begin at the start of the file begin inside a line.
      const from = isWhole ? 0 : bytes.indexOf(LF) + 1
      lines.push(...bytes.toString('utf8', from).split('\n'))
    } catch (error) {
      if (at === 0) throw error
      break
    }
  }
  return lines.filter(line => line !== '')
}

function endOf(
  disk: Disk,
  path: string,
  bytesMax: number,
): { readonly bytes: Buffer; readonly isWhole: boolean } {
  const { fd, stat } = disk.openRead(path)
  try {
    const length = Math.min(stat.size, bytesMax)
    const bytes = disk.readAt(fd, path, stat.size - length, length)
    return { bytes, isWhole: length === stat.size }
  } finally {
    disk.close(fd)
  }
}

/** Two lines with one `event_id` are the same event, although the flags change the text. A line without one is its own id. */
function lineIdentityOf(line: string): string {
  try {
    const { event_id: id } = JSON.parse(line) as Record<string, unknown>
    return typeof id === 'string' ? id : line
  } catch {
    return line
  }
}
