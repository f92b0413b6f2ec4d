/** Whether a journal is that of an unpacked bundle from which something was taken out. */
import { dirname, join } from 'node:path'
import { closeFile, openRegularFile, readAt } from '@kim/observer-sdk/history'
import { bundleFile, MANIFEST_BYTES_MAX, parseBundle } from './manifest.js'

/** By the manifest beside it, if there is one. */
export function isOfRedactedBundle(eventsDir: string): boolean {
  const opened = openRegularFile(join(dirname(eventsDir), bundleFile))
  if (!opened.ok) return false
  const file = opened.value
  try {
    if (file.size > MANIFEST_BYTES_MAX) return false
    const bytes = new Uint8Array(file.size)
    readAt(file, bytes, 0, bytes.length, 0)
    const manifest = parseBundle(bytes)
    return manifest !== undefined && manifest.redact !== 'none'
  } finally {
    closeFile(file)
  }
}
