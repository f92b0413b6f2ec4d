import { closeSync, fdatasyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Puts a small private file in place, whole or not at all: after a power cut the old text or the new one is there.
 * Synchronous, so that a process that is about to end can still say how far it came.
 */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}.tmp`
  const fd = openSync(draft, 'w', 0o600)
  try {
    writeSync(fd, text)
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, path)
}
