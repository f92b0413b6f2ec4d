import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatBytes } from '@kim/cli-kit'
import { verifyJournal } from '@kim/observer-sdk'
import { type Check, fine, unseen } from '../check.js'

/** More than this takes longer than somebody who asks a doctor waits. */
const BYTES_MAX = 256 * 1024 ** 2

/** The whole journal, judged from its bytes. */
export const journal: Check = {
  id: 'journal',
  about: 'the journal is whole: segments, checkpoints and blobs agree',
  look: async context => {
    const { hasStore, paths, signal } = context
    const verify = context.command('kim-producer journal verify')
    if (!hasStore) return unseen('there is no store')
    const bytes = sizeOf(paths.events)
    if (bytes > BYTES_MAX) {
      return unseen(`${formatBytes(bytes)} are more than is judged here`, `run: ${verify}`)
    }
    const { exit, findings, hint } = await verifyJournal({ eventsDir: paths.events, signal })
    if (exit === 0) return fine(`${formatBytes(bytes)} judged`)
    const kinds = Object.entries(findings).map(([kind, { count }]) => `${kind} × ${count}`)
    return {
      status: 'fail',
      evidence:
        exit === 5 ? `records are missing: ${kinds.join(', ')}` : `damaged: ${kinds.join(', ') || hint}`,
      remedy: `see where: ${verify}; then: ${context.command('kim-producer journal repair')} --dry-run`,
    }
  },
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(directory, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(path) : (statSync(path, { throwIfNoEntry: false })?.size ?? 0))
  }, 0)
}
