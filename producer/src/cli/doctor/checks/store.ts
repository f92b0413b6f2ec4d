import { type Check, fine } from '../check.js'

/** Is there anything to look at. */
export const store: Check = {
  id: 'store',
  about: 'there is a store',
  look: context =>
    context.hasStore
      ? fine(context.paths.root)
      : {
          status: 'warn',
          evidence: `there is no store at ${context.paths.root}`,
          remedy: `name another one with --store DIR, or let one be made: ${context.starting('kim-producer run')}`,
        },
}
