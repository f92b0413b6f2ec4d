/**
 * One file-system watch per directory and process, shared by every observer of that directory.
 *
 * chokidar's `change` loses the last append of a burst (it throttles with no trailing event), so only
 * its un-throttled `raw` event is used, and only as a bell: what happened is decided from sizes and
 * bytes. Sharing is not an economy. chokidar itself shares the system watch by path: after a directory
 * was deleted and recreated, one user that has not let go yet would keep the dead watch for all of them.
 */
import { resolve } from 'node:path'
import type { FSWatcher } from 'chokidar'

/** A subscription to the changes of one directory. */
export interface Doorbell {
  /** True while the system reports changes of the directory last aimed at. */
  readonly works: boolean
  /** Points the watch at the directory with this identity; `undefined` means there is none now. */
  aim(identity: string | undefined): void
  /** Gives up a watch that looks alive but says nothing, and takes a new one. */
  renew(): void
  /** Ends the subscription; the last one closes the watch. Leaves no handle and no timer. */
  close(): void
}

const bells = new Map<string, Bell>()

/** Why the bell rings: the system reported something, or the watch was armed and may have missed something. */
export type Ring = 'heard' | 'armed'

/** Calls `ring` whenever something in the directory may have changed. */
export function openDoorbell(directory: string, ring: (why: Ring) => void): Doorbell {
  const path = resolve(directory)
  const bell = bells.get(path) ?? new Bell(path)
  bells.set(path, bell)
  bell.ringers.add(ring)
  return {
    get works() {
      return bell.works
    },
    aim: identity => bell.aim(identity),
    renew: () => bell.renew(),
    close() {
      if (!bell.ringers.delete(ring) || bell.ringers.size > 0) return
      bell.aim(undefined)
      bells.delete(path)
    },
  }
}

class Bell {
  readonly ringers = new Set<(why: Ring) => void>()
  works = false
  readonly #directory: string
  #identity: string | undefined
  #watcher: FSWatcher | undefined
  #aimed = 0

  constructor(directory: string) {
    this.#directory = directory
  }

  aim(identity: string | undefined): void {
    if (identity === this.#identity) return
    this.#identity = identity
    this.renew()
  }

  renew(): void {
    this.works = false
    this.#aimed += 1
    if (this.#watcher !== undefined) silence(this.#watcher)
    this.#watcher = undefined
    if (this.#identity !== undefined) void this.#arm(this.#aimed)
  }

  async #arm(aimed: number): Promise<void> {
    // Loaded late: a command that only reads once never pays for it.
    const { watch } = await import('chokidar')
    if (aimed !== this.#aimed) return
    const depth = this.#directory.length
    const watcher = watch(this.#directory, {
      depth: 0,
      ignoreInitial: true,
      atomic: false,
      // The directory's own watch reports its files; watching each of them would say everything twice.
      ignored: path => path.length > depth,
    })
    this.#watcher = watcher
    watcher.on('raw', () => this.#ring('heard'))
    watcher.on('ready', () => {
      // An environment variable can turn chokidar to polling, which never sees an append.
      this.works = !watcher.options.usePolling
      this.#ring('armed')
    })
    watcher.on('error', () => {
      this.works = false
    })
  }

  #ring(why: Ring): void {
    for (const ring of this.ringers) ring(why)
  }
}

/**
 * Closes a chokidar watcher for good. `close()` alone forgets the timers of its throttles: closed while
 * it re-reads the directory, which is always under an active writer, it holds the process for a second.
 * It can also still emit `error`, which without a listener would end the host.
 */
function silence(watcher: FSWatcher): void {
  for (const throttled of watcher._throttled.values()) {
    for (const entry of throttled.values()) clearTimeout(entry.timeoutObject)
  }
  void watcher.close()
  watcher.on('error', () => {})
}
