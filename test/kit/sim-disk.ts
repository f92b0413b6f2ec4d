import { Buffer } from 'node:buffer'
import { SimMisuse } from './sim-error.js'
import type { DirNode, DirOp, FileNode, FileOp, SimNode } from './sim-node.js'

/** Which of the things that were not yet durable reached the disk when the power went. */
export interface CrashChoice {
  /** How many of the pending directory operations, in order. */
  readonly names: number
  /** How many pending units (a byte; a truncation) per inode; absent: none. */
  readonly units: ReadonlyMap<number, number>
  /** Sectors per inode, by their number in the file, that did not reach the disk although later bytes did. */
  readonly lost?: ReadonlyMap<number, ReadonlySet<number>>
}

/** The unit in which a disk keeps or loses bytes. */
export const sectorBytes = 512
/** The unit in which a system writes a file back. */
export const pageBytes = 4096

export const rootIno = 2
const empty = Buffer.alloc(0)

/**
 * The inodes, what of them is durable and what is not. It knows nothing of calls, descriptors or faults:
 * those are SimFs. Buffers are never changed in place, so that clones may share them.
 */
export class SimDisk {
  readonly nodes: Map<number, SimNode> = new Map<number, SimNode>()
  /** Directory operations that no directory fsync has covered, in order. */
  names: DirOp[] = []
  #nextIno: number = rootIno + 1

  constructor() {
    this.nodes.set(rootIno, dirNode(rootIno, 0o755, 0))
  }

  /** Number of a new inode; never used again. */
  newIno(): number {
    return this.#nextIno++
  }

  node(ino: number): SimNode {
    const node = this.nodes.get(ino)
    if (node === undefined) throw new SimMisuse(`no inode ${ino}`)
    return node
  }

  dir(ino: number): DirNode {
    const node = this.node(ino)
    if (node.kind !== 'dir') throw new SimMisuse(`inode ${ino} is no directory`)
    return node
  }

  /** Visible now, durable later. */
  apply(op: DirOp): void {
    for (const change of op.changes) set(this.dir(change.dir).entries, change.name, change.ino)
    this.names.push(op)
  }

  /** Write bytes at a position of a file, or empty it: visible now, durable later. */
  change(file: FileNode, op: FileOp): void {
    file.pending.push(op)
    file.data = applied(file.data, op, Number.POSITIVE_INFINITY)
  }

  syncFile(file: FileNode): void {
    file.synced = file.data
    file.pending = []
  }

  /** Make the names in a directory durable, and whatever older ones they cannot be durable without. */
  syncDir(dir: DirNode): void {
    const wanted = new Set([dir.ino])
    const kept: DirOp[] = []
    const done: DirOp[] = []
    for (const op of this.names.toReversed()) {
      if (op.changes.some(change => wanted.has(change.dir))) {
        for (const change of op.changes) wanted.add(change.dir)
        done.push(op)
      } else kept.push(op)
    }
    for (const op of done.toReversed()) this.#makeDurable(op)
    this.names = kept.reverse()
  }

  #makeDurable(op: DirOp): void {
    for (const change of op.changes) set(this.dir(change.dir).durable, change.name, change.ino)
  }

  /** Everything becomes durable, as it does when enough time passes. */
  settle(): void {
    for (const op of this.names) this.#makeDurable(op)
    this.names = []
    for (const node of this.nodes.values()) if (node.kind === 'file') this.syncFile(node)
  }

  /** Files with bytes that are not durable and a name that a crash can leave them, and how many units each. */
  unsyncedFiles(): { ino: number; units: number }[] {
    const named = new Set(this.names.flatMap(op => op.changes.map(change => change.ino)))
    for (const node of this.nodes.values()) {
      if (node.kind === 'dir') for (const ino of node.durable.values()) named.add(ino)
    }
    const out: { ino: number; units: number }[] = []
    for (const node of this.nodes.values()) {
      if (node.kind === 'file' && node.pending.length > 0 && named.has(node.ino)) {
        out.push({ ino: node.ino, units: node.pending.reduce((sum, op) => sum + unitsOf(op), 0) })
      }
    }
    return out
  }

  /** The same disk, to be changed apart from this one. */
  clone(): SimDisk {
    const copy = new SimDisk()
    copy.#nextIno = this.#nextIno
    for (const [ino, node] of this.nodes) {
      if (node.kind === 'dir') {
        copy.nodes.set(ino, { ...node, entries: new Map(node.entries), durable: new Map(node.durable) })
      } else if (node.kind === 'file') copy.nodes.set(ino, { ...node, pending: [...node.pending] })
      else copy.nodes.set(ino, { ...node })
    }
    copy.names = [...this.names]
    return copy
  }

  /** The disk that is found after the power came back; all of it durable. */
  crash(choice: CrashChoice): SimDisk {
    const source = this.clone()
    for (const op of source.names.slice(0, choice.names)) source.#makeDurable(op)
    const found = new SimDisk()
    found.#nextIno = this.#nextIno
    const walk = (ino: number): void => {
      if (found.nodes.has(ino) && ino !== rootIno) return
      const node = source.node(ino)
      if (node.kind === 'dir') {
        found.nodes.set(ino, { ...node, entries: new Map(node.durable), durable: new Map(node.durable) })
        for (const child of node.durable.values()) walk(child)
      } else if (node.kind === 'file') {
        const kept = survivor(node, choice.units.get(ino) ?? 0)
        const data = withoutSectors(kept, node, choice.lost?.get(ino))
        found.nodes.set(ino, { ...node, data, synced: data, pending: [] })
      } else found.nodes.set(ino, { ...node })
    }
    walk(rootIno)
    return found
  }
}

/** Bytes of a pending operation that can reach the disk one by one. */
export function unitsOf(op: FileOp): number {
  return op.kind === 'truncate' ? 1 : op.bytes.length
}

export function dirNode(ino: number, mode: number, uid: number): DirNode {
  return { kind: 'dir', ino, mode, uid, entries: new Map(), durable: new Map() }
}

export function fileNode(ino: number, mode: number, uid: number): FileNode {
  return { kind: 'file', ino, mode, uid, data: empty, synced: empty, pending: [] }
}

function survivor(file: FileNode, units: number): Buffer {
  let left = units
  let data = file.synced
  for (const op of file.pending) {
    if (left <= 0) break
    data = applied(data, op, left)
    left -= unitsOf(op)
  }
  return data
}

/** The file without the unsynced bytes of some sectors: where nothing was durable before, there are zeros. */
function withoutSectors(data: Buffer, file: FileNode, lost: ReadonlySet<number> | undefined): Buffer {
  if (lost === undefined || lost.size === 0) return data
  const out = Buffer.from(data)
  for (const sector of lost) {
    const from = Math.min(out.length, sector * sectorBytes)
    const to = Math.min(out.length, from + sectorBytes)
    out.fill(0, from, to)
    if (from < file.synced.length) file.synced.copy(out, from, from, to)
  }
  return out
}

/** The numbers of the sectors that hold bytes of an append that is not durable; none for a file that was emptied. */
export function unsyncedSectors(file: FileNode): number[] {
  if (file.pending.some(({ kind }) => kind === 'truncate') || file.data.length <= file.synced.length)
    return []
  const first = Math.floor(file.synced.length / sectorBytes)
  const last = Math.floor((file.data.length - 1) / sectorBytes)
  return Array.from({ length: last - first + 1 }, (_, n) => first + n)
}

function applied(data: Buffer, op: FileOp, units: number): Buffer {
  if (op.kind === 'truncate') return empty
  const bytes = op.bytes.subarray(0, Math.min(units, op.bytes.length))
  if (op.at === data.length) return Buffer.concat([data, bytes])
  const out = Buffer.alloc(Math.max(data.length, op.at + bytes.length))
  data.copy(out)
  bytes.copy(out, op.at)
  return out
}

function set(map: Map<string, number>, name: string, ino: number | undefined): void {
  if (ino === undefined) map.delete(name)
  else map.set(name, ino)
}
