import { KimError } from '@kim/manifest'
import { unlistedName } from '../../../core/unlisted-name.js'
import { type Check, fine, unseen } from '../check.js'

/** A misspelt inbox is empty for ever, and nobody is told. */
export const personasCheck: Check = {
  id: 'personas',
  about: 'the selected inboxes exist',
  look: async context => {
    const { personas: selected } = context.options.core
    if (selected === undefined) return fine('every persona of the directory is selected')
    try {
      const answer = await context.directory()
      if (!answer.ok) return unseen('the directory could not be fetched')
      const known = answer.value.entries.map(({ persona }) => persona)
      const missing = selected.filter(name => !known.includes(name))
      const [first] = missing
      if (first === undefined)
        return fine(`${selected.length} of the ${known.length} personas of the directory`)
      return {
        status: 'warn',
        evidence: missing.map(name => unlistedName(name, known).message).join('; '),
        remedy: unlistedName(first, known).hint,
      }
    } catch (error) {
      if (error instanceof KimError) return unseen('the directory could not be fetched')
      throw error
    }
  },
}
