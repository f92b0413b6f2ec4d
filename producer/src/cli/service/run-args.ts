import { resolve } from 'node:path'
import { type Input, shellWord } from '@kim/cli-kit'
import { runFlags } from '../run/flags.js'

/** A flag, and its value if it takes one. */
type Given = readonly [flag: string, value?: string]

/**
 * The flags of `run` as they were given, for a command line that is kept; the store is always named. Paths are made
 * absolute: a service starts in another directory than the one it was installed from.
 */
export function runArgs(input: Input, storeDir: string): string[] {
  return [
    'run',
    `--store=${storeDir}`,
    ...given(input).map(([flag, value]) => (value === undefined ? flag : `${flag}=${value}`)),
  ]
}

/** The same flags, but for the store, as they are typed: a remedy without one of them would start another producer. */
export function runWords(input: Input): string[] {
  return given(input).map(([flag, value]) => {
    if (value === undefined) return flag
    return `${flag}${value.startsWith('-') ? '=' : ' '}${shellWord(value)}`
  })
}

function given(input: Input): Given[] {
  const flags = runFlags.filter(({ name }) => name !== 'store' && input.given(name))
  return flags.flatMap(({ name, kind, many, commas }): Given[] => {
    const flag = `--${name}`
    if (kind === 'boolean') return [[flag]]
    if (many === true) {
      return input
        .list(name)
        .map((value): Given => [flag, commas === false ? value : value.replaceAll(',', '\\,')])
    }
    if (kind === 'path') return [[flag, resolve(input.text(name) ?? '')]]
    return [[flag, String(kind === 'string' ? input.text(name) : input.number(name))]]
  })
}
