import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Flag, type Input, type Io, shellWord, usageError } from '@kim/cli-kit'
import { defaultStore, type Environment, storePaths } from '@kim/manifest'

/** Which store: `--store`, else the variable, else the default one. */
export const storeFlag: Flag = {
  name: 'store',
  kind: 'path',
  value: 'DIR',
  env: 'KIM_STORE',
  about: "use this store (default: the state directory's kim/stores/default)",
}

/** For commands that only read: the events directory itself, wherever it was copied to. */
export const eventsFlag: Flag = {
  name: 'events',
  kind: 'path',
  value: 'DIR',
  about: 'read this events directory, or a copy of one, without its store',
}

export const jsonFlag: Flag = { name: 'json', kind: 'boolean', about: 'print one JSON object' }

export const dryRunFlag: Flag = {
  name: 'dry-run',
  kind: 'boolean',
  about: 'print what would be done and change nothing',
}

/** The store a command works on, absolute. */
export function storeOf(input: Input, io: Io): string {
  return resolve(input.text('store') ?? defaultStore(io.env, homedir()))
}

/** A command as it has to be typed to be about this store. */
export function storeCommand(words: string, storeDir: string, env: Environment): string {
  return storeDir === defaultStore(env, homedir()) ? words : `${words} --store ${shellWord(storeDir)}`
}

/** The events directory a command reads. */
export function eventsDirOf(input: Input, io: Io): string {
  const events = input.text('events')
  if (events === undefined) return storePaths(storeOf(input, io)).events
  if (input.given('store')) throw usageError('--store and --events exclude each other', 'give one of them')
  return resolve(events)
}
