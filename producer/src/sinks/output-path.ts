import { dirname, resolve, sep } from 'node:path'
import { resolveExisting } from '../effects/system.js'
import type { Disk } from '../journal/file-ops.js'

/** Whether a path is a directory or below it, with links resolved. */
export function isInside(path: string, directory: string): boolean {
  const real = resolveExisting(resolve(path))
  const home = resolveExisting(resolve(directory))
  return real === home || real.startsWith(home.endsWith(sep) ? home : home + sep)
}

/** Creates a directory and its missing parents, each 0700 and durable. Existing ones are not changed. */
export function makePrivate(disk: Disk, path: string): void {
  // The trailing dot makes the system follow a link.
  if (disk.look(`${path}/.`) !== undefined) return
  const above = dirname(path)
  makePrivate(disk, above)
  disk.makeDirectory(path)
  disk.syncDirectory(above)
}
