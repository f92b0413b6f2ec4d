import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { Input } from '@kim/cli-kit'
import { usageError } from '@kim/cli-kit'
import { defaultStore, storePaths } from '@kim/manifest'
import { isAtOrBelow, realPathOf } from '../../store/real-path.js'

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
      '--store and --events exclude each other',
      'give one of them: --events is the directory inside a store',
    )
  }
  if (events !== undefined) return { eventsDir: resolve(events), storeDir: undefined }
  const store = resolve(input.text('store') ?? defaultStore(env, homedir()))
  return { eventsDir: storePaths(store).events, storeDir: store }
}

/** Refuses to write at or below what is observed: a reader must not be able to disturb it, whatever it is told. */
export function refuseInside(location: StoreLocation, path: string, flag: string): void {
  // A link is replaced where it stands, whatever it points to.
  const standing = join(realPathOf(dirname(resolve(path))), basename(resolve(path)))
  const targets = [realPathOf(path), standing]
  for (const observed of observedBy(location)) {
    if (targets.some(target => isAtOrBelow(observed, target))) {
      throw usageError(
        `${flag} would write inside the store, which kim-tail only reads: ${path}`,
        'name a path outside the store',
      )
    }
  }
}

/** What is observed, by its real paths: with an events directory also the store around it, if it is in one. */
function observedBy({ eventsDir, storeDir }: StoreLocation): string[] {
  const events = realPathOf(eventsDir)
  if (storeDir !== undefined) return [realPathOf(storeDir), events]
  const around = storePaths(dirname(events))
  return around.events === events && existsSync(around.run) ? [around.root, events] : [events]
}
