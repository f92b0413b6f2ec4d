import { realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** The real path of what exists of a path, with the rest as it stands. */
export function resolveExisting(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path
      ? path
      : resolve(resolveExisting(parent), path.slice(parent.length).replace(/^[\\/]+/, ''))
  }
}
