import type { Buffer } from 'node:buffer'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { SimFs } from './sim-fs.js'

/** A directory for temporary files, in memory where the system has one. */
export function fastTmpdir(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

/**
 * A real directory that shows a simulated one, for readers that open real files. It is used again and again:
 * only what changed since the last time is written.
 */
export class Scratch {
  readonly root: string
  #files = new Map<string, Buffer>()
  #dirs = new Set<string>()

  constructor(prefix = 'kim-scratch-') {
    this.root = mkdtempSync(join(fastTmpdir(), prefix))
  }

  /** Make `root` an image of the directory `under`. */
  show(fs: SimFs, under: string): string {
    const files = fs.files(under)
    const dirs = fs.directories(under)
    const wanted = new Set(dirs)
    for (const path of this.#files.keys()) {
      if (!files.has(path)) {
        rmSync(join(this.root, path), { force: true })
        this.#files.delete(path)
      }
    }
    for (const dir of [...this.#dirs].sort().reverse()) {
      if (!wanted.has(dir)) {
        rmSync(join(this.root, dir), { recursive: true, force: true })
        this.#dirs.delete(dir)
      }
    }
    for (const dir of dirs) {
      if (dir !== '' && !this.#dirs.has(dir)) {
        mkdirSync(join(this.root, dir), { recursive: true, mode: 0o700 })
        this.#dirs.add(dir)
      }
    }
    for (const [path, data] of files) {
      if (this.#files.get(path) === data) continue
      // A new inode each time: a reader may tell files apart by theirs.
      rmSync(join(this.root, path), { force: true })
      mkdirSync(dirname(join(this.root, path)), { recursive: true, mode: 0o700 })
      writeFileSync(join(this.root, path), data, { mode: 0o600 })
      this.#files.set(path, data)
    }
    return this.root
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
