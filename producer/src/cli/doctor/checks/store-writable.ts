import { accessSync, chmodSync, constants, existsSync, statSync } from 'node:fs'
import { shellWord } from '@kim/cli-kit'
import { systemCode } from '../../../journal/failure.js'
import { type Check, type Found, fine, unseen } from '../check.js'

const OWNER_ALL = 0o700

/** A store that can only be read keeps every producer from starting, or ends the one that runs. */
export const storeWritable: Check = {
  id: 'store-writable',
  about: 'its owner can write to the store',
  look: ({ hasStore, paths }) => {
    if (!hasStore) return unseen('there is no store')
    const { root, events, checkpoints, archive, blobs, run } = paths
    const there = [root, events, checkpoints, archive, blobs, run].filter(path => existsSync(path))
    for (const path of there) {
      try {
        accessSync(path, constants.W_OK | constants.X_OK)
      } catch (error) {
        return closed(path, systemCode(error) ?? String(error))
      }
    }
    return fine(`${there.length} directories, all of them writable`)
  },
}

function closed(path: string, code: string): Found {
  const evidence = `${path} cannot be written: ${code}`
  const mode = statSync(path).mode & 0o777
  if (code === 'EROFS') {
    const remedy =
      'its file system is read-only: find out why (dmesg), mount it for writing, then start the producer again'
    return { status: 'fail', evidence, remedy }
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
