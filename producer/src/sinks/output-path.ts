import { resolve, sep } from 'node:path'
import { realPathOf } from '../effects/real-path.js'

/** True for a path at or below a directory, whatever links lead there. */
export function isInside(path: string, directory: string): boolean {
  const real = realPathOf(resolve(path))
  const home = realPathOf(resolve(directory))
  return real === home || real.startsWith(home.endsWith(sep) ? home : home + sep)
}
