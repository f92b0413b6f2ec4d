/**
 * Decides when a directory is looked at. Reports of the system are coalesced into one look per turn of the event loop. A
 * slow timer looks in any case, so that a lost notification costs seconds, never a record. Where a read-ahead is enough
 * to see what came, it is taken at once, and one look for all that came with it follows soon.
 */
import { existsSync, statfsSync, watch } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Between looks that nothing asked for, where the system's notifications can be trusted. */
const SLOW_MS = 10_000
/** Between such looks where they cannot: other systems, network file systems, a watch that proved deaf. */
const FAST_MS = 1_000
/** How soon a look follows a read-ahead. Looking takes longer than reading ahead, and what a burst brings waits behind it. */
const SOON_MS = 2

/** What a look found, from which the watch judges itself. */
export interface ScanResult {
  /** Identity of the directory looked at; `undefined` when there is none. */
  readonly identity: string | undefined
  /** True when the look found something new. */
  readonly grown: boolean
}

/** What looks; all of it synchronous, and none of it throws. */
export interface DirectoryScanner {
  /** Looks at everything there is to see. */
  scan(): ScanResult
  /** Takes what is in plain view, as fast as can be; a look follows. `blind` if only a look can tell. */
  readAhead(): 'took' | 'nothing' | 'blind'
}

/** Intervals, replaceable by tests. */
export interface WatchIntervals {
  readonly slowMs?: number
  readonly fastMs?: number
  /** How long what shows only inside a subdirectory is left alone. */
  readonly innerMs?: number
}

/** Looks in a later turn, and then whenever the directory may have changed, until it is closed. */
export function openWatch(
  directory: string,
  scanner: DirectoryScanner,
  { slowMs = SLOW_MS, fastMs = FAST_MS }: WatchIntervals = {},
): { close(): void } {
  let identity: string | undefined
  let notified = false
  let heard = 0
  /** How much had been heard when the timer, not the system, found something new. */
  let foundAt: number | undefined
  let deaf = false
  let due: NodeJS.Immediate | undefined
  /** Calls off the look that is to follow a read-ahead. */
  let callOff: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  /** While there is no such directory: a watch of the nearest one above it. */
  let awaited: { readonly path: string; close(): void } | undefined
  const onMade = { heard: lookNext, armed: () => {}, broken: () => {} }

  const onReport: OnReport = why => {
    if (why === 'heard') {
      heard += 1
      deaf = false
      if (due === undefined && hasReadAhead()) return
    }
    lookNext()
  }
  const shared = SharedWatch.join(directory, onReport)

  function lookNext(): void {
    if (!closed) due ??= setImmediate(look)
  }

  function look(): void {
    clearImmediate(due)
    due = undefined
    callOff?.()
    callOff = undefined
    settle(scanner.scan())
  }

  /** Begins in a turn of its own: what was read ahead is on its way to a consumer that waits. What is returned calls it off. */
  function lookSoon(): () => void {
    let timeout: NodeJS.Timeout | undefined
    const begun = setImmediate(() => {
      timeout = setTimeout(look, SOON_MS)
    })
    return () => {
      clearImmediate(begun)
      clearTimeout(timeout)
    }
  }

  /** Whether nothing more has to be looked at now. */
  function hasReadAhead(): boolean {
    if (closed) return true
    const ahead = scanner.readAhead()
    if (ahead === 'blind' || (ahead === 'nothing' && callOff === undefined)) return false
    if (!closed) callOff ??= lookSoon()
    return true
  }

  function tick(): void {
    timer = undefined
    // A change the timer found and no report has followed until now: this watch will never say anything.
    const nowDeaf = foundAt === heard
    const result = scanner.scan()
    foundAt = result.grown ? heard : undefined
    if (nowDeaf && !deaf) shared.renew()
    deaf = nowDeaf || deaf
    settle(result)
  }

  function settle(result: ScanResult): void {
    if (closed) return
    if (result.identity !== identity) {
      identity = result.identity
      notified = identity !== undefined && notifies(directory)
      deaf = false
      shared.aim(identity)
      // A slow wait that was begun for another directory is not sat out for this one, or for none.
      clearTimeout(timer)
      timer = undefined
    }
    const above = identity === undefined ? nearestAbove(directory) : undefined
    if (above !== awaited?.path) {
      awaited?.close()
      awaited = above === undefined ? undefined : { path: above, ...openPlainWatch(above, onMade, 'rename') }
      // What was made before the watch was there reported nothing.
      lookNext()
    }
    timer ??= setTimeout(tick, awaited !== undefined || (notified && shared.works && !deaf) ? slowMs : fastMs)
  }

  lookNext()
  return {
    close() {
      closed = true
      shared.leave(onReport)
      awaited?.close()
      clearImmediate(due)
      callOff?.()
      clearTimeout(timer)
    },
  }
}

/** The nearest directory above a path that exists. */
function nearestAbove(path: string): string {
  const above = dirname(resolve(path))
  return existsSync(above) || above === path ? above : nearestAbove(above)
}

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
type OnReport = (why: 'heard' | 'armed') => void

const watches = new Map<string, SharedWatch>()

/**
 * One file-system watch per directory and process, shared by every observer of that directory: Linux's own there,
 * chokidar's elsewhere. It only says that something may have changed: what happened is decided from sizes and bytes.
 * Sharing is not an economy. chokidar itself shares the system watch by path: after a directory was deleted and created
 * again, one user that still has the dead watch would keep it for all of them.
 */
class SharedWatch {
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
