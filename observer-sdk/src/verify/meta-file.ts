import { eventsPaths, type Meta, parseMeta } from '@kim/manifest'
import { openFirst } from '../store/file-content.js'

/** More than our writer ever puts into it; a larger file is somebody's joke. */
const BYTES_MAX = 4096

/** What `meta.json` says, if it is one. */
export function readMeta(eventsDir: string): Meta | undefined {
  const opened = openFirst([{ path: eventsPaths(eventsDir).meta, place: 'live', gzip: false }])
  if (!opened.ok) return undefined
  const content = opened.value
  try {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for (const chunk of content.chunks()) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) return undefined
      chunks.push(Uint8Array.from(chunk))
    }
    return content.failure === undefined ? parseMeta(Buffer.concat(chunks).toString('utf8')) : undefined
  } finally {
    content.close()
  }
}

/** Whether it names a project as our writer does: then this is a journal of ours, whatever became of its records. */
export function namesProject(meta: Meta | undefined): boolean {
  return meta !== undefined && /^[0-9a-f]{32}$/.test(meta.project_id)
}
