import { realpathSync } from 'node:fs'
import { dirname, resolve, sep } from 'node:path'

/** True for a path at or below a directory, whatever links lead there. */
export function isInside(path: string, directory: string): boolean {
  const real = realOf(resolve(path))
  const home = realOf(resolve(directory))
  return real === home || real.startsWith(home.endsWith(sep) ? home : home + sep)
}

/** The real path of what exists of a path, with the rest as it stands. */
function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : resolve(realOf(parent), path.slice(parent.length).replace(/^[\\/]+/, ''))
  }
}
