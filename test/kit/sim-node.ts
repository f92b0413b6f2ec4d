import type { Buffer } from 'node:buffer'

/** One thing that was done to a file's bytes and that no fsync has covered yet. */
export type FileOp =
  | { readonly kind: 'write'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate' }

export interface FileNode {
  readonly kind: 'file'
  readonly ino: number
  mode: number
  uid: number
  /** What a running process reads. */
  data: Buffer
  /** What is on the disk for certain. */
  synced: Buffer
  /** What leads from `synced` to `data`, in order. */
  pending: FileOp[]
}

export interface DirNode {
  readonly kind: 'dir'
  readonly ino: number
  mode: number
  uid: number
  /** What a running process sees. */
  entries: Map<string, number>
  /** What is on the disk for certain. */
  durable: Map<string, number>
}

export interface OtherNode {
  readonly kind: 'symlink' | 'fifo'
  readonly ino: number
  mode: number
  uid: number
  readonly target: string
}

export type SimNode = FileNode | DirNode | OtherNode

/** One create, mkdir, link, unlink or rename, or half of one between directories, whole or not at all; `ino` undefined takes the name away. */
export interface DirOp {
  readonly label: string
  readonly changes: readonly {
    readonly dir: number
    readonly name: string
    readonly ino: number | undefined
  }[]
}
