import { chmodSync, lstatSync } from 'node:fs'
import { KimError } from '@kim/manifest'
import { type Check, type CheckResult, fine } from '../check.js'

/** The credential, without sending it. */
export const tokenCheck: Check = {
  id: 'token',
  about: 'the token can be read',
  look: async context => {
    const { tokenFile } = context.options.server
    try {
      const source = await context.source()
      const from = tokenFile ?? (context.env['KIM_TOKEN'] === undefined ? '$KIJITOMON_TOKEN' : '$KIM_TOKEN')
      const has =
        tokenFile !== undefined || (context.env['KIM_TOKEN'] ?? context.env['KIJITOMON_TOKEN']) !== undefined
      return fine(has ? `read from ${from}` : `no token; ${source.base} needs none`)
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      return refused(error, tokenFile)
    }
  },
}

function refused(error: KimError, tokenFile: string | undefined): CheckResult {
  const isOfToken = error.code === 'token_invalid' || error.code === 'not_permitted'
  if (!isOfToken) return { status: 'unknown', evidence: `not checked: ${error.message}` }
  const canMend = tokenFile !== undefined && error.code === 'not_permitted' && isOwnFile(tokenFile)
  return {
    status: 'fail',
    evidence: error.message,
    remedy: error.hint,
    ...(canMend ? { fix: () => chmodSync(tokenFile, 0o600) } : {}),
  }
}

function isOwnFile(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isFile() === true && stat.uid === process.getuid?.()
}
