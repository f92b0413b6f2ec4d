import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { openFlags } from './file-system.js'

/** The text of a regular file; whatever else stands there is not waited for, not followed and undefined. */
export function readPlainFile(path: string): string | undefined {
  const fd = openSync(path, openFlags.readOnly | openFlags.noFollow | openFlags.nonBlock)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : undefined
  } finally {
    closeSync(fd)
  }
}
