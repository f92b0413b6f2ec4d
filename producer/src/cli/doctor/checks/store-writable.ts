import { chmodSync, existsSync, statSync } from 'node:fs'
import { shellWord } from '@kim/cli-kit'
import { ownerRemedy } from '../../../journal/failure.js'
import { type Check, type Found, fine, unseen } from '../check.js'
import { standing, whyClosed } from '../standing-path.js'

const OWNER_ALL = 0o700

/** A store that can only be read keeps every producer from starting, or ends the one that runs. */
export const storeWritable: Check = {
  id: 'store-writable',
  about: 'its owner can write to the store',
  look: ({ hasStore, paths }) => {
    if (!hasStore) return unmade(paths.root)
    const { root, events, checkpoints, archive, blobs, run } = paths
    const there = [root, events, checkpoints, archive, blobs, run].filter(path => existsSync(path))
    for (const path of there) {
      const why = whyClosed(path)
      if (why !== undefined) return closed(path, why)
    }
    return fine(`${there.length} directories, all of them writable`)
  },
}

/** What keeps a store from being made is told before somebody tries. */
function unmade(root: string): Found {
  const path = standing(root)
  const stat = statSync(path)
  // Another check says so.
  if (!stat.isDirectory()) return unseen('there is no store')
  const { uid: owner } = stat
  const uid = process.getuid?.()
  if (path === root && uid !== undefined && owner !== uid) {
    const evidence = `${root} belongs to user ${owner}, not to user ${uid}: no store can be made there`
    return { status: 'fail', evidence, remedy: ownerRemedy(root, owner, uid, true) }
  }
  const code = whyClosed(path)
  if (code === undefined) return unseen('there is no store')
  if (path === root || code === 'EROFS' || uid === undefined) return closed(path, code)
  return {
    status: 'fail',
    evidence: `${path} cannot be written, so no store can be made below it: ${code}`,
    remedy: `name another one with --store DIR, or have it made: sudo install -d -m 700 -o ${uid} ${shellWord(root)}`,
  }
}

function closed(path: string, code: string): Found {
  const evidence = `${path} cannot be written: ${code}`
  const { mode: bits, uid: owner } = statSync(path)
  const mode = bits & 0o777
  const uid = process.getuid?.()
  if (code === 'EROFS') {
    const remedy =
      'its file system is read-only: find out why (dmesg), mount it for writing, then start the producer again'
    return { status: 'fail', evidence, remedy }
  }
  if (uid !== undefined && owner !== uid) {
    return { status: 'fail', evidence, remedy: ownerRemedy(path, owner, uid, true) }
  }
  if ((mode & OWNER_ALL) === OWNER_ALL) {
    return {
      status: 'fail',
      evidence,
      remedy: `see who it belongs to, and who you are: ls -ld ${shellWord(path)}; id`,
    }
  }
  return {
    status: 'fail',
    evidence: `${evidence} (mode ${mode.toString(8).padStart(4, '0')})`,
    remedy: `chmod 700 ${shellWord(path)}`,
    fix: () => chmodSync(path, OWNER_ALL),
  }
}
