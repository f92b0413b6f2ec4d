import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Check, fine, unseen } from '../check.js'

/** What `statfs` calls file systems of other machines, and those that answer through a program. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
])

/** Locks and syncs of a network file system promise less than the journal needs. */
export const fileSystemCheck: Check = {
  id: 'file-system',
  about: 'the store is on a local disk',
  look: ({ paths }) => {
    if (process.platform !== 'linux') return unseen('only Linux shows this')
    let path = paths.root
    while (!existsSync(path)) path = dirname(path)
    const name = REMOTE.get(statfsSync(path).type >>> 0)
    if (name === undefined) return fine('a local file system')
    return {
      status: 'warn',
      evidence: `${path} is on ${name}: locks and syncs may be unreliable, and readers get no notifications`,
      remedy: 'put the store on a local disk: --store DIR; until then readers poll once a second',
    }
  },
}
