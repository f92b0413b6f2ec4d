import { closeSync, fdatasyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { KimError, safeText } from '@kim/manifest'
import { makeDirectory } from '../../../cursors/make-directory.js'

/**
 * Puts a small private file in place, whole or not at all: after a power cut the old text or the new one is there.
 * Synchronous, so that a process that is about to end can still say how far it came.
 */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    replaceBy(draft, path, text)
  } catch (error) {
    forget(draft)
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

function replaceBy(draft: string, path: string, text: string): void {
  makeDirectory(dirname(path))
  const fd = openSync(draft, 'w', 0o600)
  try {
    writeSync(fd, text)
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, path)
}

/** A draft that was not finished says nothing to anybody. */
function forget(draft: string): void {
  try {
    rmSync(draft, { force: true })
  } catch {
    // Its directory is gone, or no directory: then so is the draft.
  }
}
