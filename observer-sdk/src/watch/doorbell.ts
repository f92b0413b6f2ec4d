/**
 * One file-system watch per directory and process, shared by every observer of that directory: Linux's own there,
 * chokidar's elsewhere. It is only a bell: what happened is decided from sizes and bytes. Sharing is not an economy.
 * chokidar itself shares the system watch by path: after a directory was deleted and recreated, one user that has
 * not let go yet would keep the dead watch for all of them.
 */
import { resolve } from 'node:path'
import { openPlainWatch } from './plain-watch.js'
import type { SystemWatch, WatchListener } from './system-watch.js'

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
  #watch: SystemWatch | undefined
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
    this.#watch?.close()
    this.#watch = undefined
    if (this.#identity === undefined) return
    if (process.platform === 'linux') this.#watch = openPlainWatch(this.#directory, this.#listener())
    else void this.#armChokidar(this.#aimed)
  }

  async #armChokidar(aimed: number): Promise<void> {
    // Loaded late: a command that only reads once, or a system with a better watch, never pays for it.
    const { openChokidarWatch } = await import('./chokidar-watch.js')
    if (aimed === this.#aimed) this.#watch = openChokidarWatch(this.#directory, this.#listener())
  }

  #listener(): WatchListener {
    return {
      heard: () => this.#ring('heard'),
      armed: () => {
        this.works = true
        this.#ring('armed')
      },
      broken: () => {
        this.works = false
      },
    }
  }

  #ring(why: Ring): void {
    for (const ring of this.ringers) ring(why)
  }
}
