import { resolve } from 'node:path'
import type { Input } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'

/**
 * The flags of `run` as they were given, for a command line that is kept; the store is always named. Paths are made
 * absolute: a service starts in another directory than the one it was installed from.
 */
export function runArgs(input: Input, storeDir: string): string[] {
  const given = runFlags.filter(({ name }) => name !== 'store' && input.given(name))
  const rest = given.flatMap(({ name, kind, many }) => {
    if (kind === 'boolean') return [`--${name}`]
    if (many === true) return input.list(name).map(value => `--${name}=${value}`)
    if (kind === 'path') return [`--${name}=${resolve(input.text(name) ?? '')}`]
    return [`--${name}=${kind === 'string' ? input.text(name) : input.number(name)}`]
  })
  return ['run', `--store=${storeDir}`, ...rest]
}
