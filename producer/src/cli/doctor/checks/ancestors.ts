import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { type Check, fine, unseen } from '../check.js'

const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000

/** Whoever may write above the store can put another one in its place. */
export const ancestorsCheck: Check = {
  id: 'ancestors',
  about: 'no other user controls the directories above the store',
  look: ({ paths }) => {
    const uid = process.getuid?.()
    if (uid === undefined) return unseen('this platform has no file modes')
    for (let path = dirname(paths.root); ; path = dirname(path)) {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat !== undefined) {
        const isShared = (stat.mode & WRITABLE_BY_OTHERS) !== 0 && (stat.mode & STICKY) === 0
        const isForeign = stat.uid !== uid && stat.uid !== 0
        if (isShared || isForeign) {
          return {
            status: 'warn',
            evidence: `${path} ${isForeign ? `belongs to user ${stat.uid}` : 'is writable by other users'}`,
            remedy: isForeign ? 'choose another store: --store DIR' : `chmod go-w ${shellWord(path)}`,
          }
        }
      }
      if (path === dirname(path)) return fine('no other user can write to them')
    }
  },
}
