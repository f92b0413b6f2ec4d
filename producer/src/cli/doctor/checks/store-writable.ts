import { chmodSync, existsSync, statSync } from 'node:fs'
import { shellWord } from '@kim/cli-kit'
import { ownerRemedy } from '../../../journal/failure.js'
import { type Check, type CheckResult, fine, unseen } from '../check.js'
import { accessError, nearestExisting } from '../path-access.js'

const OWNER_ALL = 0o700

/** A store that can only be read keeps every producer from starting, or ends the one that runs. */
export const storeWritableCheck: Check = {
  id: 'store-writable',
  about: 'its owner can write to the store',
  look: ({ hasStore, paths }) => {
    if (!hasStore) return unmade(paths.root)
    const { root, events, checkpoints, archive, blobs, run } = paths
    const there = [root, events, checkpoints, archive, blobs, run].filter(path => existsSync(path))
    for (const path of there) {
      const why = accessError(path, 'wx')
      if (why !== undefined) return closed(path, why)
    }
    return fine(`${there.length} directories, all writable`)
  },
}

/** What keeps a store from being made is told before somebody tries. */
function unmade(root: string): CheckResult {
  const path = nearestExisting(root)
  const stat = statSync(path)
  // Another check says so.
  if (!stat.isDirectory()) return unseen('there is no store')
  const { uid: owner } = stat
  const uid = process.getuid?.()
  if (path === root && uid !== undefined && owner !== uid) {
    const evidence = `cannot create the store: ${root} belongs to user ${owner}, not to user ${uid}`
    return { status: 'fail', evidence, remedy: ownerRemedy(root, owner, uid, true) }
  }
  const code = accessError(path, 'wx')
  if (code === undefined) return unseen('there is no store')
  if (path === root || code === 'EROFS' || uid === undefined) return closed(path, code)
  return {
    status: 'fail',
    evidence: `cannot create the store: ${path} is not writable (${code})`,
    remedy: `name another store with --store DIR, or create this one: sudo install -d -m 700 -o ${uid} ${shellWord(root)}`,
  }
}

function closed(path: string, code: string): CheckResult {
  const evidence = `${path} is not writable: ${code}`
  const { mode: bits, uid: owner } = statSync(path)
  const mode = bits & 0o777
  const uid = process.getuid?.()
  if (code === 'EROFS') {
    const remedy =
      'its file system is read-only: find the cause with dmesg, mount it for writing, then start the producer again'
    return { status: 'fail', evidence, remedy }
  }
  if (uid !== undefined && owner !== uid) {
    return { status: 'fail', evidence, remedy: ownerRemedy(path, owner, uid, true) }
  }
  if ((mode & OWNER_ALL) === OWNER_ALL) {
    return {
      status: 'fail',
      evidence,
      remedy: `compare its owner with your user: ls -ld ${shellWord(path)}; id`,
    }
  }
  return {
    status: 'fail',
    evidence: `${evidence} (mode ${mode.toString(8).padStart(4, '0')})`,
    remedy: `chmod 700 ${shellWord(path)}`,
    fix: () => chmodSync(path, OWNER_ALL),
  }
}
