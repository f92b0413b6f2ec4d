import { didYouMean } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { type Check, fine, unseen } from '../check.js'

/** A misspelt inbox is empty for ever, and nobody is told. */
export const personas: Check = {
  id: 'personas',
  about: 'the selected inboxes exist',
  look: async context => {
    const { personas: selected } = context.options.core
    if (selected === undefined) return fine('every persona of the directory')
    try {
      const answer = await context.directory()
      if (!answer.ok) return unseen('the directory could not be had')
      const known = answer.value.entries.map(({ persona }) => persona)
      const missing = selected.filter(name => !known.includes(name))
      const [first] = missing
      if (first === undefined) return fine(`${selected.length} of ${known.length} in the directory`)
      return {
        status: 'warn',
        evidence: `not in the directory: ${missing.join(', ')}${didYouMean(first, known)}`,
        remedy: 'spell them as the directory does; an inbox nobody knows answers with nothing',
      }
    } catch (error) {
      if (error instanceof KimError) return unseen('the directory could not be had')
      throw error
    }
  },
}
