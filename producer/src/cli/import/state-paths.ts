import { existsSync, lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { usageError } from '@kim/cli-kit'

/**
 * The files that a `--state-file` of the older monitor stands for: itself if it is there, else one per persona, as
 * `hive.json` stood for `hive.argus.json` and its siblings.
 */
export function statePaths(given: readonly string[]): string[] {
  if (given.length === 0)
    throw usageError(
      '--state-file is missing',
      'give --state-file F, with the path that the older monitor had',
    )
  return [...new Set(given.flatMap(pathsOf))]
}

function pathsOf(given: string): string[] {
  const path = resolve(given)
  if (stands(path)) return [path]
  const directory = dirname(path)
  const extension = extname(path) || '.json'
  const stem = basename(path, extname(path))
  const names = existsSync(directory) ? readdirSync(directory) : []
  const found = names.filter(
    name =>
      name.startsWith(`${stem}.`) &&
      name.endsWith(extension) &&
      name.length > stem.length + 1 + extension.length,
  )
  if (found.length === 0) {
    throw usageError(
      `there is no state file ${path}`,
      `check the path; there is no file per persona either, such as ${stem}.argus${extension}`,
    )
  }
  return found.sort().map(name => join(directory, name))
}

/** True for whatever stands there, a link that leads nowhere included. */
function stands(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}
