import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * A directory, for its owner alone, and those it stands in. Node's own recursive `mkdir` tries for ever where a parent
 * stands and nothing can be made in it, as below `/proc`.
 */
export function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  const parent = dirname(path)
  if (parent !== path) makeDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Somebody else was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
