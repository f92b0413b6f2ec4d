import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { safeText, usageError } from '@kim/cli-kit'

/** Where an output goes: the file itself, also behind a link, and the mode it has if it is there. */
export interface OutPlace {
  readonly path: string
  readonly mode: number | undefined
}

/** Judges the name of an output. What is no file is refused: it could only be replaced, and nobody means that. */
export function outPlace(name: string): OutPlace {
  if (name === '') throw refusal('is empty')
  if (name === '-')
    throw refusal('is not stdout, where the report goes', 'name a file; ./- is one that is called so')
  const path = resolve(name)
  const standing = statSync(path, { throwIfNoEntry: false })
  if (standing === undefined) {
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw refusal(`${name} is a link to nothing`)
    const directory = statSync(dirname(path), { throwIfNoEntry: false })
    if (directory?.isDirectory() !== true)
      throw refusal(`${name}: there is no directory ${dirname(path)}`, 'make it')
    return { path, mode: undefined }
  }
  if (!standing.isFile()) throw refusal(`${name} is ${kindOf(standing)}, not a file`)
  return { path: realpathSync(path), mode: standing.mode & 0o777 }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory'
  if (stats.isFIFO()) return 'a pipe'
  return stats.isSocket() ? 'a socket' : 'a device'
}

function refusal(why: string, hint = 'name a file: it appears whole, or not at all'): Error {
  return usageError(`--out ${safeText(why)}`, hint)
}
