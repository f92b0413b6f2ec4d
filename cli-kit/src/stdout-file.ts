import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'

/**
 * Has a stream to a file take all of what it is given or say why not. Node asks the system once and takes a write that
 * a full disk cut short for a whole one: what is missing would count as printed.
 */
export function writeWhole(stream: Writable & { readonly fd: number }): void {
  if (!isRegularFile(stream.fd)) return
  stream._write = (chunk: Uint8Array, _encoding, done) => {
    try {
      for (let taken = 0; taken < chunk.length; ) taken += writeSync(stream.fd, chunk, taken)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
      return
    }
    done()
  }
}

/** A stdout that was closed before we began is no file either. */
function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}
