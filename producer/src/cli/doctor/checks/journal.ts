import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatBytes } from '@kim/cli-kit'
import { verifyJournal } from '@kim/observer-sdk/verify'
import { isRepairable } from '../../repairable.js'
import { type Check, fine, unseen } from '../check.js'

/** More than this takes longer than somebody who asks a doctor waits. */
const BYTES_MAX = 256 * 1024 ** 2

/** The whole journal, judged from its bytes. */
export const journalCheck: Check = {
  id: 'journal',
  about: 'the journal is whole: segments, checkpoints and blobs agree',
  look: async context => {
    const { hasStore, paths, signal } = context
    const verify = context.command('kim-producer journal verify')
    if (!hasStore) return unseen('there is no store')
    const bytes = sizeOf(paths.events)
    if (bytes > BYTES_MAX) {
      return unseen(`${formatBytes(bytes)} are too much for this check`, `run: ${verify}`)
    }
    const { exit, findings, hint } = await verifyJournal({ eventsDir: paths.events, signal })
    if (exit === 0) return fine(`${formatBytes(bytes)} checked`)
    // The rest are notes, of what a repair explained for one.
    const wrong = Object.entries(findings).filter(([, { weight }]) => weight > 0)
    const kinds = wrong.map(([kind, { count }]) => `${kind} × ${count}`)
    const helps = wrong.length === 0 || wrong.some(([kind]) => isRepairable(kind))
    const next = helps
      ? `then: ${context.command('kim-producer journal repair')} --dry-run`
      : 'no repair can undo this: stop the producer and restore the named files from a backup; if the producer starts without them, you can also leave it so'
    return {
      status: 'fail',
      evidence:
        exit === 5 ? `records are missing: ${kinds.join(', ')}` : `damaged: ${kinds.join(', ') || hint}`,
      remedy: `find the damage: ${verify}; ${next}`,
    }
  },
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(directory, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(path) : (statSync(path, { throwIfNoEntry: false })?.size ?? 0))
  }, 0)
}
