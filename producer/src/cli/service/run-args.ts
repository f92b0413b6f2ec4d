import { resolve } from 'node:path'
import type { Input } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'

/** Flags whose value is a path: a service starts in another directory than the one it was installed from. */
const PATH_FLAGS: ReadonlySet<string> = new Set([
  'store',
  'token-file',
  'events-file',
  'events-file-template',
  'activity-file',
])

/** The flags of `run` as they were given, for a command line that is kept; the store is always named. */
export function runArgs(input: Input, storeDir: string): string[] {
  const given = runFlags.filter(({ name }) => name !== 'store' && input.given(name))
  const rest = given.flatMap(({ name, kind, many }) => {
    if (kind === 'boolean') return [`--${name}`]
    if (many === true) return input.list(name).map(value => `--${name}=${value}`)
    if (kind === 'string') {
      const text = input.text(name) ?? ''
      return [`--${name}=${PATH_FLAGS.has(name) ? resolve(text) : text}`]
    }
    return [`--${name}=${input.number(name)}`]
  })
  return ['run', `--store=${storeDir}`, ...rest]
}
