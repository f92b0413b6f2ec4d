/**
 * One file-system watch per directory and process, shared by every observer of that directory: Linux's own there,
 * chokidar's elsewhere. It only says that something may have changed: what happened is decided from sizes and bytes.
 * Sharing is not an economy. chokidar itself shares the system watch by path: after a directory was deleted and created
 * again, one user that still has the dead watch would keep it for all of them.
 */
import { statfsSync, watch } from 'node:fs'
import { resolve } from 'node:path'

/** What a watch of the system reports. Nothing, once it is closed. */
export interface WatchListener {
  /** Something in the directory may have changed. */
  heard(): void
  /** From now on the system reports; what happened before it did not. */
  armed(): void
  /** The system reports nothing, or nothing any more. */
  broken(): void
}

/** A watch of the system. */
export interface SystemWatch {
  /** Leaves no handle and no timer. */
  close(): void
}

/** Called when the directory may have changed: the system reported something, or the watch may have missed something. */
export type OnReport = (why: 'heard' | 'armed') => void

const watches = new Map<string, SharedWatch>()

/** The watch of one directory, for all of its users. */
export class SharedWatch {
  /** True while the system reports changes of the directory last aimed at. */
  works = false
  readonly #path: string
  readonly #users = new Set<OnReport>()
  #identity: string | undefined
  #watch: SystemWatch | undefined
  #aimed = 0

  private constructor(path: string) {
    this.#path = path
  }

  /** Adds a user to the watch of a directory. */
  static join(directory: string, user: OnReport): SharedWatch {
    const path = resolve(directory)
    const shared = watches.get(path) ?? new SharedWatch(path)
    watches.set(path, shared)
    shared.#users.add(user)
    return shared
  }

  /** Removes a user. The last one closes the watch, which leaves no handle and no timer. */
  leave(user: OnReport): void {
    if (!this.#users.delete(user) || this.#users.size > 0) return
    this.aim(undefined)
    watches.delete(this.#path)
  }

  /** Points the watch at the directory with this identity; `undefined` means that there is none now. */
  aim(identity: string | undefined): void {
    if (identity === this.#identity) return
    this.#identity = identity
    this.renew()
  }

  /** Takes a new watch in place of one that looks alive but says nothing. */
  renew(): void {
    this.works = false
    this.#aimed += 1
    this.#watch?.close()
    this.#watch = undefined
    if (this.#identity === undefined) return
    if (process.platform === 'linux') this.#watch = openPlainWatch(this.#path, this.#listener())
    else void this.#armChokidar(this.#aimed)
  }

  async #armChokidar(aimed: number): Promise<void> {
    // Loaded late: a command that only reads once, or a system with a better watch, never pays for it.
    const { openChokidarWatch } = await import('./chokidar-watch.js')
    if (aimed === this.#aimed) this.#watch = openChokidarWatch(this.#path, this.#listener())
  }

  #listener(): WatchListener {
    const report: OnReport = why => {
      for (const user of this.#users) user(why)
    }
    return {
      heard: () => report('heard'),
      armed: () => {
        this.works = true
        report('armed')
      },
      broken: () => {
        this.works = false
      },
    }
  }
}

/**
 * The system's own watch, one call and one handle: on Linux it reports every append to every file of the directory,
 * without a detour. With `only`, it reports just what is made, moved or removed there.
 */
export function openPlainWatch(directory: string, listener: WatchListener, only?: 'rename'): SystemWatch {
  let closed = false
  const report = (what: keyof WatchListener): void => {
    if (!closed) listener[what]()
  }
  try {
    const watcher = watch(directory)
    watcher.on('change', type => {
      if (only === undefined || type === only) report('heard')
    })
    // Stays on after the close: an error without a listener would end the host.
    watcher.on('error', () => report('broken'))
    report('armed')
    return {
      close() {
        closed = true
        watcher.close()
      },
    }
  } catch {
    // The directory is missing again, or the system has no watch left.
    report('broken')
    return { close: () => {} }
  }
}

/** `f_type` of file systems on which another host's writes raise no notification here. */
const REMOTE_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x01021997, // 9P
  0x65735546, // FUSE, sshfs among them
  0x5346414f, // AFS
  0x00c36400, // Ceph
  0x0bd00bd0, // Lustre
  0x47504653, // GPFS
  0x786f4256, // VirtualBox shared folders
  0x7c7c6673, // Parallels shared folders
  0xbacbacbc, // VMware shared folders
  0x01161970, // GFS2
  0x7461636f, // OCFS2
  0x6b414653, // AFS of the kernel
  0x73757245, // Coda
  0x19830326, // BeeGFS
])

/** Whether the system reports appends to this directory's files by other programs, as far as can be known. */
export function notifies(directory: string, platform: NodeJS.Platform = process.platform): boolean {
  if (platform !== 'linux') return false
  try {
    return !REMOTE_FILE_SYSTEMS.has(statfsSync(directory).type >>> 0)
  } catch {
    return false
  }
}
