import { chmodSync, lstatSync } from 'node:fs'
import { KimError } from '@kim/manifest'
import { unlistedName } from '../../core/persona-directory.js'
import { canonicalSource, sourceRemedy } from '../../journal/store.js'
import { remedyOf, type Source, serverRemedy } from '../../source/source.js'
import { recordedSource } from '../open-store.js'
import { type Check, failing, fine, unseen, warning } from './check.js'

/** Does the store belong to this server? */
const sourceIdentityCheck: Check = {
  id: 'source',
  look: ({ hasStore, paths, options }) => {
    if (!hasStore) return unseen('there is no store')
    const recorded = recordedSource(paths.events)
    if (recorded === undefined)
      return unseen('the store does not show its server: its first segment is archived, missing or damaged')
    let given: string
    try {
      given = canonicalSource(options.server.url)
    } catch (error) {
      if (error instanceof KimError) return failing(error.message, error.hint)
      throw error
    }
    const own = canonicalSource(recorded)
    if (own === given) return fine(given)
    return failing(
      `${paths.root} belongs to ${own}, not to ${given}`,
      sourceRemedy(paths.root, recorded, given),
    )
  },
}

function isOfToken({ code }: KimError): boolean {
  return code === 'token_invalid' || code === 'not_permitted'
}

/** Can the token be read? The check does not send it. */
const tokenCheck: Check = {
  id: 'token',
  look: async context => {
    const { tokenFile } = context.options.server
    try {
      const source = await context.source()
      const { KIM_TOKEN, KIJITOMON_TOKEN } = context.env
      if ((tokenFile ?? KIM_TOKEN ?? KIJITOMON_TOKEN) === undefined)
        return fine(`no token is set; the check server shows whether ${source.base} needs one`)
      if (tokenFile !== undefined) return fine(`read from ${tokenFile}`)
      const name = KIM_TOKEN === undefined ? '$KIJITOMON_TOKEN' : '$KIM_TOKEN'
      return fine(`read from ${name} of this shell; an installed service does not see it`)
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      if (!isOfToken(error)) return unseen(`not checked: ${error.message}`)
      const canFix = tokenFile !== undefined && error.code === 'not_permitted' && isOwnFile(tokenFile)
      return failing(error.message, error.hint, canFix ? () => chmodSync(tokenFile, 0o600) : undefined)
    }
  },
}

function isOwnFile(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.uid === process.getuid?.()
}

/** Does the server answer and accept the token? The check requests the list of personas, which marks no mail as read. */
const serverCheck: Check = {
  id: 'server',
  look: async context => {
    let source: Source
    try {
      source = await context.source()
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      return isOfToken(error)
        ? unseen('not checked: there is no valid token to send')
        : failing(error.message, error.hint)
    }
    const answer = await context.directory()
    const { base } = source
    if (!answer.ok) {
      const { reason } = answer.failure
      return failing(`${base}: ${reason}`, remedyOf(reason, source) ?? serverRemedy(base))
    }
    const ms = Math.round(answer.receivedMs - answer.sentMs)
    return fine(`${base} answered in ${ms} ms with ${answer.value.entries.length} personas`)
  },
}

/** Do the selected inboxes exist? The server answers for a misspelt name as for an empty inbox. */
const personasCheck: Check = {
  id: 'personas',
  look: async context => {
    const { personas: selected } = context.options.core
    if (selected === undefined) return fine('every persona that the server lists is selected')
    const answer = await context.directory()
    if (!answer.ok) return unseen(`the server did not return its list of personas: ${answer.failure.reason}`)
    const known = answer.value.entries.map(({ persona }) => persona)
    const missing = selected.filter(name => !known.includes(name)).map(name => unlistedName(name, known))
    const [first] = missing
    if (first === undefined)
      return fine(`${selected.length} of the ${known.length} personas that the server lists`)
    return warning(missing.map(({ message }) => message).join('; '), first.hint)
  },
}

/** Checks of the server. */
export const serverChecks: readonly Check[] = [sourceIdentityCheck, tokenCheck, serverCheck, personasCheck]
