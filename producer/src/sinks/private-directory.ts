import { dirname } from 'node:path'
import type { Disk } from '../journal/file-ops.js'

/** Makes a directory and whatever is missing above it, each level 0700 and durable; what is there stays as it is. */
export function makePrivate(disk: Disk, path: string): void {
  // The trailing dot asks about what a link leads to.
  if (disk.look(`${path}/.`) !== undefined) return
  const above = dirname(path)
  makePrivate(disk, above)
  disk.makeDirectory(path)
  disk.syncDirectory(above)
}
