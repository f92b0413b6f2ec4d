import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Flag, flag, type Input, type Io, printReport, shellWord, toggle } from '@kim/cli-kit'
import { defaultStore, type Environment } from '@kim/manifest'

/** The store: `--store`, else the variable, else the default one. */
export const storeFlag: Flag = flag(
  'path',
  'store',
  'DIR',
  'use this store (default: ~/.local/state/kim/stores/default, or below $XDG_STATE_HOME)',
  { env: 'KIM_STORE' },
)

/** For commands that only read: the events directory itself, or a copy of one. */
export const eventsFlag: Flag = flag(
  'path',
  'events',
  'DIR',
  'read this events directory, or a copy of one, without its store',
)

export const jsonFlag: Flag = toggle('json', 'print one JSON object')

export const dryRunFlag: Flag = toggle('dry-run', 'print what would be done and change nothing')

/** The store of a command, absolute. */
export function storeOf(input: Input, io: Io): string {
  return resolve(input.text('store') ?? defaultStore(io.env, homedir()))
}

/** A command, with the flag that names this store. */
export function storeCommand(words: string, storeDir: string, env: Environment): string {
  return storeDir === defaultStore(env, homedir()) ? words : `${words} --store ${shellWord(storeDir)}`
}

/** Prints the result of a command: one JSON object, or lines for a person. */
export function report(input: Input, io: Io, facts: object, lines: readonly string[]): void {
  printReport(io, input.bool('json'), facts, lines)
}
