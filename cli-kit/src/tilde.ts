import { usageError } from './usage-error.js'

/**
 * A shell puts a home directory in place of `~` at the start of a word alone, so `--store=~/kim` or a quoted path
 * comes as it was typed and would silently name a directory called `~`.
 */
export function refuseTilde(path: string, source: string): void {
  if (!path.startsWith('~')) return
  const meant = /^~(?=\/|$)/.test(path) ? `write "${path.replace('~', '$HOME')}", or ` : ''
  throw usageError(
    `${source}: the shell did not expand the ~ of "${path}"`,
    `${meant}use a space instead of "=" and no quotes; if the name really begins with ~, write "./${path}"`,
  )
}
