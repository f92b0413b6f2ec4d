import { KimError } from '@kim/manifest'
import { canonicalSource, sourceRemedy } from '../../../journal/source.js'
import { recordedSource } from '../../recorded-source.js'
import { type Check, fine, unseen } from '../check.js'

/** A store belongs to one server. */
export const sourceIdentityCheck: Check = {
  id: 'source',
  about: 'the store belongs to this server',
  look: ({ hasStore, paths, options }) => {
    if (!hasStore) return unseen('there is no store')
    const recorded = recordedSource(paths.events)
    if (recorded === undefined) return unseen('the live segments do not hold the note that names the server')
    let given: string
    try {
      given = canonicalSource(options.server.url)
    } catch (error) {
      if (error instanceof KimError) return { status: 'fail', evidence: error.message, remedy: error.hint }
      throw error
    }
    if (canonicalSource(recorded) === given) return fine(given)
    return {
      status: 'fail',
      evidence: `${paths.root} belongs to ${canonicalSource(recorded)}, not to ${given}`,
      remedy: sourceRemedy(paths.root, recorded, given),
    }
  },
}
