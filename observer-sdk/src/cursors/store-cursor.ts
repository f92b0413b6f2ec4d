import { closeSync, fdatasyncSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { KimError, type ReplaceDisk, replaceFile, safeText } from '@kim/manifest'
import { makeDirectory } from './make-directory.js'

const disk: ReplaceDisk<number> = {
  create: path => openSync(path, 'wx', 0o600),
  write: (fd, bytes) => writeSync(fd, bytes),
  sync: fdatasyncSync,
  close: closeSync,
  rename: renameSync,
  remove: unlinkSync,
}

/**
 * Replaces the file of a cursor. It returns when the new text is durable, so that a process that is about to end can
 * still say how far it came.
 */
export function storeCursor(path: string, text: string): void {
  try {
    makeDirectory(dirname(path))
    const draft = `${path}.${process.pid}.tmp`
    replaceFile(disk, { target: path, draft, chunks: [Buffer.from(text)] })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const isDenied =
      error instanceof Error && 'code' in error && ['EACCES', 'EPERM'].includes(String(error.code))
    throw new KimError(
      isDenied ? 'not_permitted' : 'store_failed',
      `cannot store the cursor: ${safeText(why)}`,
      {
        hint: `the old cursor is kept, so the records printed since will come again; check ${safeText(dirname(path))}`,
        cause: error,
      },
    )
  }
}
