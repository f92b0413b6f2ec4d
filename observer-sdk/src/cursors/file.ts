import { createHash } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { cursorKey, KimError } from '@kim/manifest'
import type { Cursor, CursorStore } from './cursor.js'
import { makeDirectory } from './make-directory.js'

/** Names that are the same file on every system. */
const PLAIN = /^[a-z0-9_-]{1,100}$/

/**
 * Cursors in files of a client-private directory, one per project, replaced atomically.
 *
 * @example
 * const cursors = fileCursors('/home/river/.local/state/kim/clients/status-bar')
 */
export function fileCursors(directory: string): CursorStore {
  const fileOf = (projectId: string): string => {
    const name = PLAIN.test(projectId) ? projectId : createHash('sha256').update(projectId).digest('hex')
    return join(directory, `${cursorKey(name)}.json`)
  }
  return {
    directory,
    async load(projectId) {
      const text = await readFile(fileOf(projectId), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      if (text === undefined) return undefined
      try {
        return JSON.parse(text) as unknown
      } catch (cause) {
        throw new KimError(
          'cursor_invalid',
          `${fileOf(projectId)} does not hold a valid cursor; it was left as it is`,
          {
            cause,
          },
        )
      }
    },
    async save(projectId, cursor) {
      await replace(directory, fileOf(projectId), cursor)
    },
  }
}

let temporary = 0

/** Synced before it is renamed: after a power cut the old cursor or the new one is there, never half of one. */
async function replace(directory: string, file: string, cursor: Cursor): Promise<void> {
  makeDirectory(directory)
  temporary += 1
  const draft = `${file}.${process.pid}-${temporary}.tmp`
  const { checkpoint_seq, seq, writer } = cursor
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify({ checkpoint_seq, seq, writer })}\n`)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
}
