import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { defaultStore, type Environment, storePaths } from '@kim/manifest'
import type { Input } from './flag-table.js'
import { usageError } from './parse.js'

/** What a command reads. */
export interface StoreLocation {
  readonly eventsDir: string
  /** The store around it; undefined for an events directory that `--events` names. */
  readonly storeDir: string | undefined
}

/** `--events`, else `--store`, else `$KIM_STORE`, else the default store. */
export function locateStore(input: Input, env: Environment): StoreLocation {
  const events = input.text('events')
  if (events !== undefined && input.given('store'))
    throw usageError(
      '--store and --events exclude each other',
      'give one of them: --events is the directory inside a store',
    )
  if (events !== undefined) return { eventsDir: resolve(events), storeDir: undefined }
  const store = resolve(input.text('store') ?? defaultStore(env, homedir()))
  return { eventsDir: storePaths(store).events, storeDir: store }
}
