/** What a bundle says about itself, and about the lines that were taken out of it. */
import { dirname, join } from 'node:path'
import { isCount, isJsonObject, isSha256, type JsonObject } from '@kim/manifest'
import { openFile } from '@kim/observer-sdk/history'

/** Version of the manifest. */
export const bundleVersion = 1
/** Name of the manifest in a bundle. */
export const bundleFile = 'bundle.json'
/** The folder of the journal in a bundle. */
export const bundleEvents = 'events'

/** No manifest is larger. */
export const MANIFEST_BYTES_MAX: number = 64 * 1024 * 1024

/** Whether a path is that of a file of the journal in a bundle, and leads nowhere else. */
export function isBundlePath(path: string): boolean {
  const [first, ...parts] = path.split('/')
  return first === bundleEvents && parts.length > 0 && !parts.some(part => ['', '.', '..'].includes(part))
}

/** One file of a bundle. */
export interface BundledFile {
  readonly path: string
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

/** The manifest of a bundle. */
export interface BundleManifest {
  readonly bundle: number
  readonly created: string | null
  readonly files: readonly BundledFile[]
  readonly project_id: string
  readonly range: {
    readonly from_seq: number
    readonly to_seq: number
    readonly from_ts: string | null
    readonly to_ts: string | null
  }
  readonly records: number
  readonly redact: string
}

/** What a manifest says; undefined if the bytes are no manifest. */
export function parseBundle(bytes: Uint8Array): BundleManifest | undefined {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const { bundle, files, range, redact, records, project_id, created } = value
  if (bundle !== bundleVersion || !Array.isArray(files) || !isJsonObject(range)) return undefined
  if (typeof redact !== 'string' || !isCount(records) || typeof project_id !== 'string') return undefined
  const { from_seq, to_seq, from_ts, to_ts } = range
  if (!isCount(from_seq) || !isCount(to_seq) || !files.every(isFile)) return undefined
  return {
    bundle,
    created: textOr(created),
    files: files as unknown as readonly BundledFile[],
    project_id,
    range: { from_seq, to_seq, from_ts: textOr(from_ts), to_ts: textOr(to_ts) },
    records,
    redact,
  }
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function isFile(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { path, bytes, sha256 }: JsonObject = value
  return typeof path === 'string' && isCount(bytes) && isSha256(sha256)
}

/** Whether a journal is that of an unpacked bundle from which something was taken out: by the manifest beside it. */
export function isOfRedactedBundle(eventsDir: string): boolean {
  const opened = openFile(join(dirname(eventsDir), bundleFile))
  if (!opened.ok) return false
  const content = opened.value
  try {
    if (content.bytes > MANIFEST_BYTES_MAX) return false
    const manifest = parseBundle(content.read(0, content.bytes))
    return manifest !== undefined && manifest.redact !== 'none'
  } finally {
    content.close()
  }
}

/** What a redaction puts in place of a line that was no record (CL-51). */
const PLACEHOLDER = /^\{"bytes":\d{1,16},"redacted_line":true\}$/

/** Whether a line is what a redaction puts in place of another. Outside a redacted bundle it is a line like any other. */
export function isPlaceholder(bytes: Uint8Array): boolean {
  return bytes.length < 64 && PLACEHOLDER.test(Buffer.from(bytes).toString('latin1'))
}
