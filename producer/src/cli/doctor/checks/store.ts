import { statSync } from 'node:fs'
import { shellWord } from '@kim/cli-kit'
import { type Check, fine } from '../check.js'
import { standing } from '../standing-path.js'

/** Is there anything to look at. */
export const store: Check = {
  id: 'store',
  about: 'there is a store',
  look: context => {
    const { root, events } = context.paths
    if (context.hasStore) return fine(root)
    const path = standing(events)
    if (!statSync(path).isDirectory()) {
      const word = shellWord(path)
      return {
        status: 'fail',
        evidence: `${path} is no directory, so no store can be made at ${root}`,
        remedy: `name another one with --store DIR, or take it away: mv ${word} ${shellWord(`${path}.away`)}`,
      }
    }
    return {
      status: 'warn',
      evidence: `there is no store at ${root}`,
      remedy: `name another one with --store DIR, or let one be made: ${context.starting('kim-producer run')}`,
    }
  },
}
