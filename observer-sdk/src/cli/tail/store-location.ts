import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import type { Input } from '@kim/cli-kit'
import { usageError } from '@kim/cli-kit'
import { defaultStore, storePaths } from '@kim/manifest'

/** Where a command reads. */
export interface StoreLocation {
  readonly eventsDir: string
  /** The store around it; undefined for an events directory that stands alone. */
  readonly storeDir: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** `--events`, else `--store`, else `$KIM_STORE`, else the default store. */
export function locateStore(input: Input, env: Environment): StoreLocation {
  const events = input.text('events')
  if (events !== undefined && input.given('store')) {
    throw usageError(
      '--store and --events name two places',
      'give one: --events is the directory inside a store',
    )
  }
  if (events !== undefined) return { eventsDir: resolve(events), storeDir: undefined }
  const store = resolve(input.text('store') ?? defaultStore(env, homedir()))
  return { eventsDir: storePaths(store).events, storeDir: store }
}

/** Refuses to write at or below what is observed: a reader must not be able to disturb it, whatever it is told. */
export function refuseInside(location: StoreLocation, path: string, flag: string): void {
  const target = realpathOfExisting(path)
  for (const observed of [location.storeDir, location.eventsDir]) {
    if (observed !== undefined && isAtOrBelow(realpathOfExisting(observed), target)) {
      throw usageError(
        `${flag} would write inside the store that is read: ${path}`,
        'name a path outside of it',
      )
    }
  }
}

function isAtOrBelow(directory: string, path: string): boolean {
  const steps = relative(directory, path)
  return steps === '' || (!steps.startsWith('..') && !isAbsolute(steps))
}

/** The path with every link in the part of it that exists resolved. */
function realpathOfExisting(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    const parent = dirname(absolute)
    return parent === absolute ? absolute : join(realpathOfExisting(parent), basename(absolute))
  }
}
