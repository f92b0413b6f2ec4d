import { storePaths } from '@kim/manifest'
import { systemClock } from '../effects/clock.js'
import { everyStep, regardless } from '../effects/every-step.js'
import { nodeFileSystem } from '../effects/file-system.js'
import { currentHost } from '../effects/host.js'
import { systemRandom } from '../effects/random.js'
import { type HeldLock, kernelLock } from '../effects/store-lock.js'
import { Disk } from './file-ops.js'
import { letGo, lockStore } from './lock.js'
import { type Opened, openStore } from './open.js'
import type { JournalOptions } from './options.js'
import { finishRedactions } from './redact-finish.js'
import { secureStore } from './safety.js'
import type { Store } from './store.js'
import { Upkeep } from './upkeep.js'

/** An open store and what works on it. */
export interface Session {
  readonly store: Store
  readonly lock: HeldLock
  readonly opened: Opened
  readonly upkeep: Upkeep
}

/** The effects and places that the options name. */
export function makeStore(options: JournalOptions): Store {
  const switches = options.switches ?? {}
  const host = options.host ?? currentHost()
  const log = options.log ?? (() => undefined)
  return {
    disk: new Disk(options.fs ?? nodeFileSystem, host.uid, switches, log),
    paths: storePaths(options.storeDir),
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    host,
    log,
    switches,
  }
}

/** Makes sure of the store's directories and takes its lock. */
export function lockedStore(options: JournalOptions): { readonly store: Store; readonly lock: HeldLock } {
  const store = makeStore(options)
  const { disk, paths, host, clock, log } = store
  secureStore(disk, paths, host.uid, log)
  return { store, lock: lockStore(options.lock ?? kernelLock, paths.lock, paths.root, host, clock) }
}

/** Opens a store for writing and finishes what a crash left. */
export function openSession(options: JournalOptions): Session {
  const { store, lock } = lockedStore(options)
  try {
    return enterStore(store, lock, options)
  } catch (error) {
    regardless(() => lock.release())
    throw error
  }
}

/** The same, for who holds the lock; `mends` opens a store that only a repair can go on with. */
export function enterStore(store: Store, lock: HeldLock, options: JournalOptions, mends = false): Session {
  const session = enterOnce(store, lock, options, mends)
  const { opened } = session
  try {
    const { boundary } = opened
    if (!finishRedactions({ ...session, boundary })) return session
  } catch (error) {
    regardless(() => opened.appender.close())
    throw error
  }
  // Files were replaced, so whatever was derived from them is derived anew.
  opened.appender.close()
  return enterOnce(store, lock, options, mends)
}

function enterOnce(store: Store, lock: HeldLock, options: JournalOptions, mends: boolean): Session {
  const opened = openStore(store, lock, options.source, mends)
  const upkeep = new Upkeep({
    store,
    appender: opened.appender,
    state: opened.state,
    projectId: opened.projectId,
    base: opened.base,
    isHistoryWhole: opened.history.isWhole,
    gc: options.gc === false ? undefined : { gzip: options.gzip === true },
  })
  if (opened.boundary !== undefined) upkeep.sealed(opened.boundary)
  return { store, lock, opened, upkeep }
}

/** Lets go of a store. */
export function closeSession({ store, lock, opened, upkeep }: Session): void {
  everyStep(
    () => upkeep.abandon(),
    () => opened.appender.close(),
    () => letGo(lock, store),
  )
}
