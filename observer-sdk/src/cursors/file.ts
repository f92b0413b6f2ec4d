import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AsyncReplaceDisk,
  type Cursor,
  cursorKey,
  formatCursor,
  KimError,
  replaceFileAsync,
} from '@kim/manifest'
import type { CursorStore } from './cursor.js'
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

const disk: AsyncReplaceDisk<FileHandle> = {
  create: path => open(path, 'wx', 0o600),
  write: async (file, bytes) => (await file.write(bytes)).bytesWritten,
  sync: file => file.datasync(),
  close: file => file.close(),
  rename,
  remove: unlink,
}

let drafts = 0

/** Several saves may be under way at once, so each has a draft of its own. */
async function replace(directory: string, target: string, cursor: Cursor): Promise<void> {
  makeDirectory(directory)
  drafts += 1
  const draft = `${target}.${process.pid}-${drafts}.tmp`
  await replaceFileAsync(disk, { target, draft, chunks: [Buffer.from(formatCursor(cursor))] })
}
