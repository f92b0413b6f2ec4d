import { resolve, sep } from 'node:path'
import { resolveExisting } from '../effects/real-path.js'

/** True for a path at or below a directory, whatever links lead there. */
export function isInside(path: string, directory: string): boolean {
  const real = resolveExisting(resolve(path))
  const home = resolveExisting(resolve(directory))
  return real === home || real.startsWith(home.endsWith(sep) ? home : home + sep)
}
