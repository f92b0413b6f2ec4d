import { Buffer } from 'node:buffer'
import { constants } from 'node:fs'
import type { FileStat, FileSystem } from '@kim/producer/internal'
import { type CrashChoice, dirNode, fileNode, rootIno, SimDisk } from './sim-disk.js'
import { SimDeath, SimMisuse, systemError } from './sim-error.js'
import type { DirNode, FileNode, SimNode } from './sim-node.js'

/*
 * An in-memory file system behind the producer's FileSystem port: the same production code runs over it as
 * over node:fs, and it can be failed at any call, killed at any call, and unplugged at any moment.
 *
 * Fault model, whole:
 *  - Bytes. A write is visible at once and durable after an fsync or fdatasync of that inode. What is not
 *    yet durable reaches the disk as any prefix, byte by byte, of the operations in the order they were
 *    made; each file on its own. Of what is appended, any subset of the sectors of 512 bytes may also be lost,
 *    and any of the pages of 4 KiB: where nothing was durable before, the file then has zeros.
 *  - Names. create, mkdir, link, unlink and rename are visible at once and atomic. On the disk a rename between two
 *    directories is two changes, the old name first, as on file systems without a journal. They are durable after an
 *    fsync of a directory they changed (which takes along the earlier ones it depends on, by directory),
 *    never by an fsync of the file. Those left over reach the disk as any prefix of the order they were made.
 *  - A file whose name did not reach the disk is gone, however well its bytes were synced.
 *  - Death of the process loses nothing that was written; only loss of power does.
 *  - A call can fail once with any errno, before it did anything or after it had its whole effect; a write
 *    or a read can be short; a failed fsync leaves the bytes not durable, and a later one may make them so.
 *  - A full disk takes the bytes that still fit (a short write) and then says ENOSPC, also to new names.
 *  - A dead process does nothing more: every later call throws SimDeath.
 * Not modelled: lost sectors of a file that was emptied first, bytes that rot, permission bits
 * (modes and owners are kept, not enforced), counts of hard links, time stamps.
 *
 * It is strict: what only a bug would do (a closed descriptor, a write to a read-only one, a relative path,
 * an unknown flag) throws SimMisuse and stays on record in `misuse`.
 */

/** How one call goes wrong. */
export type Fault =
  | { readonly kind: 'error'; readonly code: string; readonly after?: boolean }
  | { readonly kind: 'short'; readonly bytes: number }
  | { readonly kind: 'die'; readonly when: 'before' | 'after' }

/** One call that was made, numbered from 1. */
export interface Call {
  readonly n: number
  readonly name: string
  readonly path: string
  /** Bytes asked for by a read or a write. */
  readonly bytes: number
}

interface OpenFile {
  readonly node: FileNode | DirNode
  readonly path: string
  readonly readable: boolean
  readonly writable: boolean
  readonly append: boolean
  position: number
}

const knownFlags =
  constants.O_WRONLY |
  constants.O_RDWR |
  constants.O_CREAT |
  constants.O_EXCL |
  constants.O_TRUNC |
  constants.O_APPEND |
  constants.O_NOFOLLOW |
  constants.O_DIRECTORY |
  constants.O_NONBLOCK
const kindBits = {
  file: constants.S_IFREG,
  dir: constants.S_IFDIR,
  symlink: constants.S_IFLNK,
  fifo: constants.S_IFIFO,
}

export class SimFs implements FileSystem {
  readonly disk: SimDisk
  readonly uid: number
  /** Calls made so far. */
  calls = 0
  /** Every call, while somebody wants to know. */
  log: Call[] | undefined
  /** Uses that only a bug explains. */
  readonly misuse: string[] = []
  /** Bytes that still fit; ENOSPC afterwards. */
  freeBytes: number = Number.POSITIVE_INFINITY
  #faults = new Map<number, Fault>()
  #filter: ((call: Call) => Fault | undefined) | undefined
  #dead = false
  #open = new Map<number, OpenFile>()
  #nextFd = 3

  constructor(disk: SimDisk = new SimDisk(), uid: number = process.getuid?.() ?? 0) {
    this.disk = disk
    this.uid = uid
  }

  /** Let call number `n` go wrong. */
  failAt(n: number, fault: Fault): void {
    this.#faults.set(n, fault)
  }

  /** Ask a function at each call whether it goes wrong; undefined ends it. */
  failWhen(filter: ((call: Call) => Fault | undefined) | undefined): void {
    this.#filter = filter
  }

  get dead(): boolean {
    return this.#dead
  }

  /** The process dies now, between two calls. */
  kill(): void {
    this.#dead = true
  }

  get openDescriptors(): string[] {
    return [...this.#open.values()].map(file => file.path)
  }

  /** What a new process finds after this one died and the machine went on. */
  restart(): SimFs {
    return new SimFs(this.disk.clone(), this.uid)
  }

  /** What a new process finds after a loss of power. */
  crash(choice: CrashChoice): SimFs {
    return new SimFs(this.disk.crash(choice), this.uid)
  }

  /** Time passes, and everything written so far becomes durable. */
  settle(): this {
    this.disk.settle()
    return this
  }

  // The port.

  openSync(path: string, flags: number, mode = 0o666): number {
    // An open that fails although its file was made leaves no descriptor.
    const file = this.#call('open', path, 0, (): OpenFile => {
      if ((flags & ~knownFlags) !== 0) this.#misused(`open ${path}: unknown flags 0o${flags.toString(8)}`)
      const access = flags & (constants.O_WRONLY | constants.O_RDWR)
      const writable = access !== 0
      let node = this.#lookup(path, (flags & constants.O_NOFOLLOW) === 0)
      if (node === undefined) {
        if ((flags & constants.O_CREAT) === 0) throw systemError('ENOENT', 'open', path)
        if (this.freeBytes <= 0) throw systemError('ENOSPC', 'open', path)
        node = fileNode(this.disk.newIno(), mode & 0o777, this.uid)
        this.disk.nodes.set(node.ino, node)
        this.#link('create', path, node.ino)
      } else if ((flags & constants.O_CREAT) !== 0 && (flags & constants.O_EXCL) !== 0) {
        throw systemError('EEXIST', 'open', path)
      }
      if (node.kind !== 'file' && node.kind !== 'dir') {
        throw systemError(node.kind === 'symlink' ? 'ELOOP' : 'ENXIO', 'open', path)
      }
      if ((flags & constants.O_DIRECTORY) !== 0 && node.kind !== 'dir')
        throw systemError('ENOTDIR', 'open', path)
      if (node.kind === 'dir' && (writable || (flags & constants.O_CREAT) !== 0))
        throw systemError('EISDIR', 'open', path)
      if (node.kind === 'file' && (flags & constants.O_TRUNC) !== 0 && node.data.length > 0) {
        this.disk.change(node, { kind: 'truncate' })
      }
      const readable = access !== constants.O_WRONLY
      const append = (flags & constants.O_APPEND) !== 0
      return { node, path, readable, writable, append, position: 0 }
    })
    const fd = this.#nextFd++
    this.#open.set(fd, file)
    return fd
  }

  closeSync(fd: number): void {
    // Linux gives the descriptor back even when close reports an error.
    const file = this.#file(fd, 'close')
    this.#call(
      'close',
      file.path,
      0,
      () => undefined,
      () => this.#open.delete(fd),
    )
    this.#open.delete(fd)
  }

  writeSync(fd: number, buffer: Uint8Array, offset = 0, length: number = buffer.byteLength - offset): number {
    const file = this.#file(fd, 'write')
    const node = file.node
    if (!file.writable || node.kind !== 'file')
      this.#misused(`write to ${file.path}, which is open for reading`)
    if (offset < 0 || length < 0 || offset + length > buffer.byteLength)
      this.#misused('write outside the buffer')
    return this.#call('write', file.path, length, short => {
      const fitting = Math.min(short ?? length, length, this.freeBytes)
      if (fitting <= 0 && length > 0 && this.freeBytes <= 0) throw systemError('ENOSPC', 'write')
      const at = file.append ? (node as FileNode).data.length : file.position
      const bytes = Buffer.from(buffer.subarray(offset, offset + fitting))
      if (bytes.length > 0) this.disk.change(node as FileNode, { kind: 'write', at, bytes })
      this.freeBytes -= bytes.length
      file.position = at + bytes.length
      return bytes.length
    })
  }

  readSync(fd: number, buffer: Uint8Array, offset: number, length: number, position: number | null): number {
    const file = this.#file(fd, 'read')
    const node = file.node
    if (!file.readable) this.#misused(`read from ${file.path}, which is open for writing`)
    if (offset < 0 || length < 0 || offset + length > buffer.byteLength)
      this.#misused('read outside the buffer')
    return this.#call('read', file.path, length, short => {
      if (length === 0) return 0
      if (node.kind !== 'file') throw systemError('EISDIR', 'read')
      const at = position ?? file.position
      const end = Math.min(at + Math.min(short ?? length, length), node.data.length)
      const copied = end > at ? node.data.copy(buffer, offset, at, end) : 0
      if (position === null) file.position += copied
      return copied
    })
  }

  fdatasyncSync(fd: number): void {
    this.#sync(fd, 'fdatasync')
  }

  fsyncSync(fd: number): void {
    this.#sync(fd, 'fsync')
  }

  #sync(fd: number, name: string): void {
    const file = this.#file(fd, name)
    this.#call(name, file.path, 0, () => {
      if (file.node.kind === 'dir') this.disk.syncDir(file.node)
      else this.disk.syncFile(file.node)
    })
  }

  fstatSync(fd: number): FileStat {
    const file = this.#file(fd, 'fstat')
    return this.#call('fstat', file.path, 0, () => statsOf(file.node))
  }

  lstatSync(path: string): FileStat {
    return this.#call('lstat', path, 0, () => statsOf(this.#must('lstat', path, false)))
  }

  readdirSync(path: string): string[] {
    return this.#call('readdir', path, 0, () => {
      const node = this.#must('scandir', path, true)
      if (node.kind !== 'dir') throw systemError('ENOTDIR', 'scandir', path)
      return [...node.entries.keys()].sort()
    })
  }

  mkdirSync(path: string, options: { readonly mode?: number } = {}): void {
    this.#call('mkdir', path, 0, () => {
      if ('recursive' in options) this.#misused('mkdir: the port has no recursive')
      if (this.#lookup(path, false) !== undefined) throw systemError('EEXIST', 'mkdir', path)
      if (this.freeBytes <= 0) throw systemError('ENOSPC', 'mkdir', path)
      const node = dirNode(this.disk.newIno(), (options.mode ?? 0o777) & 0o777, this.uid)
      this.disk.nodes.set(node.ino, node)
      this.#link('mkdir', path, node.ino)
    })
  }

  renameSync(from: string, to: string): void {
    this.#call('rename', `${from} -> ${to}`, 0, () => {
      const [fromDir, fromName] = this.#parent('rename', from)
      const [toDir, toName] = this.#parent('rename', to)
      const node = this.#must('rename', from, false)
      const target = this.#lookup(to, false)
      if (target === fromDir) throw systemError('ENOTEMPTY', 'rename', to)
      if (target === node) return
      if (node.kind === 'dir' && toDir === node) throw systemError('EINVAL', 'rename', to)
      if (target !== undefined && node.kind === 'dir') {
        if (target.kind !== 'dir') throw systemError('ENOTDIR', 'rename', to)
        if (target.entries.size > 0) throw systemError('ENOTEMPTY', 'rename', to)
      } else if (target?.kind === 'dir') throw systemError('EISDIR', 'rename', to)
      const label = `rename ${from} -> ${to}`
      const old = { dir: fromDir.ino, name: fromName, ino: undefined }
      const fresh = { dir: toDir.ino, name: toName, ino: node.ino }
      if (fromDir === toDir) this.disk.apply({ label, changes: [old, fresh] })
      else for (const change of [old, fresh]) this.disk.apply({ label, changes: [change] })
    })
  }

  linkSync(from: string, to: string): void {
    this.#call('link', `${from} -> ${to}`, 0, () => {
      const node = this.#must('link', from, false)
      this.#parent('link', to)
      if (this.#lookup(to, false) !== undefined) throw systemError('EEXIST', 'link', to)
      if (node.kind === 'dir') throw systemError('EPERM', 'link', from)
      if (this.freeBytes <= 0) throw systemError('ENOSPC', 'link', to)
      this.#link('link', to, node.ino)
    })
  }

  unlinkSync(path: string): void {
    this.#call('unlink', path, 0, () => {
      const node = this.#must('unlink', path, false)
      if (node.kind === 'dir') throw systemError('EISDIR', 'unlink', path)
      this.#link('unlink', path, undefined)
    })
  }

  fchmodSync(fd: number, mode: number): void {
    const file = this.#file(fd, 'fchmod')
    this.#call('fchmod', file.path, 0, () => {
      file.node.mode = mode & 0o777
    })
  }

  // For tests: the state of the world, made and seen past the port.

  /** Make a directory and its parents, all durable. */
  plantDir(path: string, mode = 0o700): void {
    let dir = this.disk.dir(rootIno)
    for (const name of parts(path)) {
      const ino = dir.entries.get(name)
      if (ino !== undefined) dir = this.disk.dir(ino)
      else {
        const made = dirNode(this.disk.newIno(), mode, this.uid)
        this.disk.nodes.set(made.ino, made)
        dir.entries.set(name, made.ino)
        dir.durable.set(name, made.ino)
        dir = made
      }
    }
  }

  /** Put a file there, durable, whatever was there before. */
  plantFile(path: string, data: Uint8Array | string, mode = 0o600): void {
    const [dir, name] = this.#parent('plant', path)
    const node = fileNode(this.disk.newIno(), mode, this.uid)
    node.data = Buffer.from(data as Uint8Array)
    node.synced = node.data
    this.disk.nodes.set(node.ino, node)
    dir.entries.set(name, node.ino)
    dir.durable.set(name, node.ino)
  }

  /** Another process appends to a file: visible at once, and not durable. */
  intrude(path: string, data: string): void {
    const node = this.#must('intrude', path, true)
    if (node.kind !== 'file') throw new SimMisuse(`${path} is no file`)
    this.disk.change(node, { kind: 'write', at: node.data.length, bytes: Buffer.from(data) })
  }

  /** Put a symbolic link or a FIFO there, durable. */
  plantOther(path: string, kind: 'symlink' | 'fifo', target = ''): void {
    const [dir, name] = this.#parent('plant', path)
    const ino = this.disk.newIno()
    this.disk.nodes.set(ino, { kind, ino, mode: 0o777, uid: this.uid, target })
    dir.entries.set(name, ino)
    dir.durable.set(name, ino)
  }

  /** The bytes of a file, or undefined when there is none. */
  peek(path: string): Buffer | undefined {
    const node = this.#lookup(path, true)
    return node?.kind === 'file' ? node.data : undefined
  }

  /** Every file below a directory with its bytes, by path relative to it. */
  files(under = '/'): Map<string, Buffer> {
    const out = new Map<string, Buffer>()
    const walk = (node: SimNode, prefix: string): void => {
      if (node.kind === 'file') out.set(prefix, node.data)
      if (node.kind !== 'dir') return
      for (const name of [...node.entries.keys()].sort()) {
        const child = this.disk.node(node.entries.get(name) as number)
        walk(child, prefix === '' ? name : `${prefix}/${name}`)
      }
    }
    const top = this.#lookup(under, true)
    if (top !== undefined) walk(top, '')
    return out
  }

  /** Every directory below one, by path relative to it; the one itself is ''. */
  directories(under = '/'): string[] {
    const out: string[] = []
    const walk = (node: SimNode, prefix: string): void => {
      if (node.kind !== 'dir') return
      out.push(prefix)
      for (const [name, ino] of node.entries)
        walk(this.disk.node(ino), prefix === '' ? name : `${prefix}/${name}`)
    }
    const top = this.#lookup(under, true)
    if (top !== undefined) walk(top, '')
    return out.sort()
  }

  // Inside.

  #call<T>(name: string, path: string, bytes: number, effect: (short?: number) => T, always?: () => void): T {
    if (this.#dead) throw new SimDeath(`dead before ${name} ${path}`)
    this.calls++
    const call: Call = { n: this.calls, name, path, bytes }
    this.log?.push(call)
    const asked = this.#filter?.(call)
    const fault = this.#faults.get(call.n) ?? asked
    if (fault === undefined) return effect()
    if (fault.kind === 'die') {
      if (fault.when === 'after') tryQuietly(effect)
      this.#dead = true
      throw new SimDeath(`died ${fault.when} call ${call.n}, ${name} ${path}`)
    }
    always?.()
    if (fault.kind === 'short') return effect(fault.bytes)
    if (fault.after === true) tryQuietly(effect)
    throw systemError(fault.code, name, path)
  }

  #file(fd: number, what: string): OpenFile {
    if (this.#dead) throw new SimDeath(`dead before ${what}`)
    const file = this.#open.get(fd)
    if (file === undefined) this.#misused(`${what} on descriptor ${fd}, which is not open`)
    return file as OpenFile
  }

  #misused(message: string): void {
    this.misuse.push(message)
    throw new SimMisuse(message)
  }

  #link(label: string, path: string, ino: number | undefined): void {
    const [dir, name] = this.#parent(label, path)
    this.disk.apply({ label: `${label} ${path}`, changes: [{ dir: dir.ino, name, ino }] })
  }

  #parent(syscall: string, path: string): [DirNode, string] {
    const names = parts(path)
    const name = names.pop()
    if (name === undefined) throw systemError('EBUSY', syscall, path)
    const parent = this.#lookup(`/${names.join('/')}`, true)
    if (parent === undefined) throw systemError('ENOENT', syscall, path)
    if (parent.kind !== 'dir') throw systemError('ENOTDIR', syscall, path)
    return [parent, name]
  }

  #must(syscall: string, path: string, follow: boolean): SimNode {
    const node = this.#lookup(path, follow)
    if (node === undefined) throw systemError('ENOENT', syscall, path)
    return node
  }

  #lookup(path: string, follow: boolean, depth = 0): SimNode | undefined {
    if (!path.startsWith('/')) this.#misused(`relative path ${JSON.stringify(path)}`)
    if (depth > 40) throw systemError('ELOOP', 'lookup', path)
    const names = parts(path)
    let node: SimNode = this.disk.dir(rootIno)
    for (const [i, name] of names.entries()) {
      if (node.kind !== 'dir') throw systemError('ENOTDIR', 'lookup', path)
      const ino = node.entries.get(name)
      if (ino === undefined) return undefined
      const next = this.disk.node(ino)
      const last = i === names.length - 1
      if (next.kind === 'symlink' && (follow || !last)) {
        const rest = names.slice(i + 1)
        const base = next.target.startsWith('/')
          ? next.target
          : `/${[...names.slice(0, i), next.target].join('/')}`
        return this.#lookup([base, ...rest].join('/'), follow, depth + 1)
      }
      node = next
    }
    return node
  }
}

function parts(path: string): string[] {
  const out: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') out.pop()
    else out.push(part)
  }
  return out
}

function statsOf(node: SimNode): FileStat {
  return {
    size: node.kind === 'file' ? node.data.length : 0,
    mode: kindBits[node.kind] | node.mode,
    uid: node.uid,
    ino: node.ino,
    dev: 1,
    nlink: 1,
    isFile: () => node.kind === 'file',
    isDirectory: () => node.kind === 'dir',
    isSymbolicLink: () => node.kind === 'symlink',
    isFIFO: () => node.kind === 'fifo',
  }
}

function tryQuietly(effect: () => unknown): void {
  try {
    effect()
  } catch {
    // The call would have failed by itself; the injected fault is what its caller sees.
  }
}
