import { dirname, join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { isBlobDirectory, type StorePaths } from '@kim/manifest'
import type { FileStat } from '../effects/file-system.js'
import { foreignOwner, unsafe } from './failure.js'
import type { Disk } from './file-ops.js'
import type { Log } from './log.js'

const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000
const ANYBODY_BUT_OWNER = 0o077

function isForeign(stat: FileStat, uid: number | undefined): boolean {
  return uid !== undefined && stat.uid !== uid
}

/** At and below the store nothing is followed, shared or somebody else's. */
export function checkOwn(path: string, stat: FileStat, uid: number | undefined): void {
  if (stat.isSymbolicLink()) throw unsafe(path, 'it is a symbolic link')
  if (!stat.isDirectory()) throw unsafe(path, 'it is not a directory')
  // Without user numbers (Windows) the mode bits say nothing either; the directory's own ACL guards it.
  if (uid === undefined) return
  if (isForeign(stat, uid)) throw foreignOwner(path, stat.uid, uid, true)
  if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) {
    const mode = (stat.mode & 0o777).toString(8).padStart(4, '0')
    // Not done unasked: what others put there meanwhile would then look like the store's own.
    const remedy = `check that every file in it is yours: ls -la ${shellWord(path)}; then: chmod 700 ${shellWord(path)}, or kim-producer doctor --fix with the same --store`
    throw unsafe(path, `other users can write to it (mode ${mode})`, remedy)
  }
}

/** Makes one directory of the store if it is missing, refuses what is there instead of one. */
function ensureOwn(disk: Disk, path: string, uid: number | undefined, log: Log): void {
  const stat = disk.look(path)
  if (stat === undefined) {
    disk.makeDirectory(path)
    return
  }
  checkOwn(path, stat, uid)
  if (uid === undefined || (stat.mode & ANYBODY_BUT_OWNER) === 0) return
  disk.tightenDirectory(path)
  log({
    level: 'warn',
    code: 'tightened',
    message: `${path} was readable by other users; changed its mode to 0700`,
  })
}

/** Whoever may write to an ancestor may put another store in this one's place. */
function unsafeAncestor(disk: Disk, store: string, uid: number | undefined): string | undefined {
  for (let path = dirname(store); ; path = dirname(path)) {
    // The trailing dot asks about what a link leads to: that is where the store lies.
    const stat = disk.look(`${path}/.`)
    if (stat !== undefined) {
      const foreign = isForeign(stat, uid) && stat.uid !== 0
      const shared = (stat.mode & WRITABLE_BY_OTHERS) !== 0 && (stat.mode & STICKY) === 0
      if (foreign || shared) return path
    }
    if (path === dirname(path)) return undefined
  }
}

/** Makes the missing directories above the store; what is there is not ours to judge. */
function ensureAncestors(disk: Disk, path: string): void {
  if (disk.look(`${path}/.`) !== undefined) return
  ensureAncestors(disk, dirname(path))
  disk.makeDirectory(path)
  disk.syncDirectory(dirname(path))
}

/**
 * Makes the store's directories where they are missing, refuses what nobody but an attacker or an accident
 * would put there, and makes their names durable: a directory found may be one whose maker died before that.
 */
export function secureStore(disk: Disk, paths: StorePaths, uid: number | undefined, log: Log): void {
  ensureAncestors(disk, dirname(paths.root))
  const suspect = unsafeAncestor(disk, paths.root, uid)
  if (suspect !== undefined) {
    log({
      level: 'warn',
      code: 'unsafe_ancestor',
      message: `${suspect} is above the store, and other users control it`,
      hint: 'its owner can replace the store; remove their access, or choose another store: --store DIR',
    })
  }
  const directories = [paths.root, paths.events, paths.run, paths.checkpoints, paths.archive, paths.blobs]
  for (const directory of directories) ensureOwn(disk, directory, uid, log)
  for (const name of disk.names(paths.blobs)) {
    if (isBlobDirectory(name)) ensureOwn(disk, join(paths.blobs, name), uid, log)
  }
  const quarantine = disk.look(paths.quarantine)
  if (quarantine !== undefined) checkOwn(paths.quarantine, quarantine, uid)
  disk.syncDirectory(dirname(paths.root))
  disk.syncDirectory(paths.root)
  disk.syncDirectory(paths.events)
}
