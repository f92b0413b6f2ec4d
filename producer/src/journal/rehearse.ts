import { relative } from 'node:path'
import { nodeFileSystem } from '../effects/file-system.js'
import { currentHost } from '../effects/host.js'
import { Rehearsal, type RehearsedChange } from '../effects/rehearsal.js'
import { lookingLock } from '../effects/store-lock.js'
import type { JournalOptions } from './options.js'

/** Options under which everything is done and nothing is written, and what would have been. */
export interface RehearsedOptions<T extends JournalOptions> {
  readonly options: T
  /** What was rehearsed so far; paths are relative to the store. */
  changes(): readonly RehearsedChange[]
}

/** Turns a run into its rehearsal: the same code, over a file system that keeps what is written to itself. */
export function rehearse<T extends JournalOptions>(options: T): RehearsedOptions<T> {
  const host = options.host ?? currentHost()
  const fs = new Rehearsal(options.fs ?? nodeFileSystem, host.uid)
  const inStore = (path: string): string => relative(options.storeDir, path) || '.'
  return {
    options: { ...options, host, fs, lock: options.lock ?? lookingLock },
    changes: () =>
      fs.changes().map(({ what, path, from, bytes }) => ({
        what,
        path: inStore(path),
        ...(from === undefined ? {} : { from: inStore(from) }),
        ...(bytes === undefined ? {} : { bytes }),
      })),
  }
}
