import { basename, dirname } from 'node:path'
import { type FileStat, type FileSystem, openFlags } from './system.js'

/** What a rehearsal would have changed, one path at a time. */
export interface RehearsedChange {
  readonly what: 'make' | 'append' | 'replace' | 'move' | 'remove' | 'mode'
  readonly path: string
  /** Where it stood, of what is moved. */
  readonly from?: string
  /** Bytes that would be written. */
  readonly bytes?: number
}

/** A file or directory as the rehearsal has it: what the disk holds, and what would have been done to it. */
interface Node {
  /** Where the disk has it; undefined for what only the rehearsal made. */
  readonly origin: string | undefined
  readonly stat: FileStat
  readonly added: Buffer[]
  addedBytes: number
  mode: number
}

interface Handle {
  readonly node: Node
  /** The disk's own descriptor, open for reading; undefined where there is nothing on the disk to read. */
  readonly fd: number | undefined
}

/** Numbers that no descriptor of the system has, so that the two are never taken for one another. */
const FIRST_HANDLE = 1 << 24

/**
 * A file system on which everything succeeds that would succeed on the one below, and nothing is written: what is
 * read comes from there, what is written stays in memory. So a dry run is the real run, and cannot say anything
 * else. Only leaves are moved: a file below a moved directory is not found in its new place.
 */
export class Rehearsal implements FileSystem {
  /** Nothing is waiting to be made durable. */
  readonly fdatasyncSync: FileSystem['fdatasyncSync'] = () => undefined
  readonly fsyncSync: FileSystem['fsyncSync'] = () => undefined
  readonly #below: FileSystem
  readonly #uid: number
  /** By path; null if the rehearsal removed what the disk has there. */
  readonly #nodes: Map<string, Node | null> = new Map()
  readonly #handles: Map<number, Handle> = new Map()
  #nextHandle = FIRST_HANDLE
  #nextInode = -1

  constructor(below: FileSystem, uid: number | undefined) {
    this.#below = below
    this.#uid = uid ?? 0
  }

  /** What differs from the disk, by path. */
  changes(): RehearsedChange[] {
    const moved = new Set([...this.#nodes.values()].map(node => node?.origin))
    return [...this.#nodes]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([path, node]): RehearsedChange[] => {
        const before = this.#onDisk(path)
        if (node === null) return before === undefined || moved.has(path) ? [] : [{ what: 'remove', path }]
        const { addedBytes: bytes, mode, origin, stat } = node
        if (origin === undefined && stat.isDirectory()) return [{ what: 'make', path }]
        if (origin === undefined) return [{ what: before === undefined ? 'make' : 'replace', path, bytes }]
        if (origin !== path) return [{ what: 'move', path, from: origin }]
        if (bytes > 0) return [{ what: 'append', path, bytes }]
        return mode === stat.mode ? [] : [{ what: 'mode', path }]
      })
  }

  openSync(path: string, flags: number, mode = 0o666): number {
    const asked = (flag: number): boolean => flag !== 0 && (flags & flag) === flag
    const standing = this.#find(path)
    if (standing !== undefined && asked(openFlags.create) && asked(openFlags.exclusive))
      throw failed('EEXIST', 'open', path)
    if (standing === undefined && !asked(openFlags.create)) throw failed('ENOENT', 'open', path)
    const node = standing ?? this.#make(path, false, mode)
    if (node.stat.isSymbolicLink() && asked(openFlags.noFollow)) throw failed('ELOOP', 'open', path)
    if (asked(openFlags.directory) && !node.stat.isDirectory()) throw failed('ENOTDIR', 'open', path)
    const reads = node.origin !== undefined && !node.stat.isDirectory()
    const quiet = openFlags.readOnly | openFlags.noFollow | openFlags.nonBlock
    const fd = reads ? this.#below.openSync(node.origin, quiet) : undefined
    const handle = this.#nextHandle++
    this.#handles.set(handle, { node, fd })
    return handle
  }

  closeSync(handle: number): void {
    const { fd } = this.#handle(handle)
    this.#handles.delete(handle)
    if (fd !== undefined) this.#below.closeSync(fd)
  }

  writeSync(handle: number, buffer: Uint8Array, offset: number, length: number): number {
    const { node } = this.#handle(handle)
    node.added.push(Buffer.from(buffer.subarray(offset, offset + length)))
    node.addedBytes += length
    return length
  }

  readSync(handle: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    const { fd, node } = this.#handle(handle)
    const { size } = node.stat
    if (fd !== undefined && position < size)
      return this.#below.readSync(fd, buffer, offset, Math.min(length, size - position), position)
    let at = size
    for (const piece of node.added) {
      if (position < at + piece.length) {
        const part = piece.subarray(position - at, position - at + length)
        buffer.set(part, offset)
        return part.length
      }
      at += piece.length
    }
    return 0
  }

  fstatSync(handle: number): FileStat {
    return statOf(this.#handle(handle).node)
  }

  lstatSync(path: string): FileStat {
    const node = this.#find(path)
    if (node === undefined) throw failed('ENOENT', 'lstat', path)
    return statOf(node)
  }

  readdirSync(path: string): string[] {
    const node = this.#find(path)
    if (node === undefined) throw failed('ENOENT', 'scandir', path)
    const names = new Set(node.origin === undefined ? [] : this.#below.readdirSync(node.origin))
    for (const [known, standing] of this.#nodes) {
      if (dirname(known) !== path) continue
      if (standing === null) names.delete(basename(known))
      else names.add(basename(known))
    }
    return [...names]
  }

  mkdirSync(path: string, options: { readonly mode: number }): void {
    if (this.#find(path) !== undefined) throw failed('EEXIST', 'mkdir', path)
    this.#make(path, true, options.mode)
  }

  renameSync(from: string, to: string): void {
    const node = this.#find(from)
    if (node === undefined) throw failed('ENOENT', 'rename', from)
    this.#nodes.set(to, node)
    this.#nodes.set(from, null)
  }

  linkSync(from: string, to: string): void {
    const node = this.#find(from)
    if (node === undefined) throw failed('ENOENT', 'link', from)
    if (this.#find(to) !== undefined) throw failed('EEXIST', 'link', to)
    this.#nodes.set(to, node)
  }

  unlinkSync(path: string): void {
    if (this.#find(path) === undefined) throw failed('ENOENT', 'unlink', path)
    this.#nodes.set(path, null)
  }

  fchmodSync(handle: number, mode: number): void {
    const { node } = this.#handle(handle)
    node.mode = (node.mode & ~0o7777) | mode
  }

  #handle(handle: number): Handle {
    const found = this.#handles.get(handle)
    if (found === undefined) throw failed('EBADF', 'use', String(handle))
    return found
  }

  /** The file or directory of a path, if there is one. */
  #find(path: string): Node | undefined {
    const known = this.#nodes.get(path)
    if (known !== undefined) return known ?? undefined
    const stat = this.#onDisk(path)
    if (stat === undefined) return undefined
    const node: Node = { origin: path, stat, added: [], addedBytes: 0, mode: stat.mode }
    this.#nodes.set(path, node)
    return node
  }

  #onDisk(path: string): FileStat | undefined {
    try {
      return this.#below.lstatSync(path)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  #make(path: string, isDirectory: boolean, mode: number): Node {
    if (this.#find(dirname(path)) === undefined) throw failed('ENOENT', 'make', path)
    const stat: FileStat = {
      size: 0,
      mode,
      uid: this.#uid,
      ino: this.#nextInode--,
      dev: -1,
      nlink: 1,
      isFile: () => !isDirectory,
      isDirectory: () => isDirectory,
      isSymbolicLink: () => false,
      isFIFO: () => false,
    }
    const node: Node = { origin: undefined, stat, added: [], addedBytes: 0, mode }
    this.#nodes.set(path, node)
    return node
  }
}

/** The file as the disk has it, with what the rehearsal changed. */
function statOf({ addedBytes, mode, stat }: Node): FileStat {
  return Object.assign(Object.create(stat), { mode, size: stat.size + addedBytes })
}

function failed(code: string, call: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code })
}
