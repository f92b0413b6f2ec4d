import { statSync } from 'node:fs'
import { shellWord } from '@kim/cli-kit'
import { type Check, fine } from '../check.js'
import { nearestExisting } from '../path-access.js'

/** Is there anything to look at. */
export const storeCheck: Check = {
  id: 'store',
  about: 'there is a store',
  look: context => {
    const { root, events } = context.paths
    if (context.hasStore) return fine(root)
    const path = nearestExisting(events)
    if (!statSync(path).isDirectory()) {
      const word = shellWord(path)
      return {
        status: 'fail',
        evidence: `cannot create the store ${root}: ${path} is not a directory`,
        remedy: `name another store with --store DIR, or move the file away: mv ${word} ${shellWord(`${path}.away`)}`,
      }
    }
    return {
      status: 'warn',
      evidence: `there is no store at ${root}`,
      remedy: `name another store with --store DIR, or create this one: ${context.starting('kim-producer run')}`,
    }
  },
}
