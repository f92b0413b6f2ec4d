import { storeCommand } from '../../store-flags.js'
import { type Check, fine } from '../check.js'

/** Is there anything to look at. */
export const store: Check = {
  id: 'store',
  about: 'there is a store',
  look: ({ hasStore, paths, env }) =>
    hasStore
      ? fine(paths.root)
      : {
          status: 'warn',
          evidence: `there is no store at ${paths.root}`,
          remedy: `name another one with --store DIR, or let one be made: ${storeCommand('kim-producer run', paths.root, env)}`,
        },
}
