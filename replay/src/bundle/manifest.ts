/** What a bundle says about itself. */
import { isCount, isJsonObject, isSha256, type JsonObject } from '@kim/manifest'

/** Version of the manifest. */
export const bundleVersion = 1
/** Name of the manifest in a bundle. */
export const bundleFile = 'bundle.json'
/** The folder of the journal in a bundle. */
export const bundleEvents = 'events'

/** More than a manifest ever has. */
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

/** What a manifest says, or nothing if it is none. */
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
  if (!isCount(range['from_seq']) || !isCount(range['to_seq']) || !files.every(isFile)) return undefined
  return {
    bundle,
    created: typeof created === 'string' ? created : null,
    files: files as unknown as readonly BundledFile[],
    project_id,
    range: {
      from_seq: range['from_seq'],
      to_seq: range['to_seq'],
      from_ts: typeof range['from_ts'] === 'string' ? range['from_ts'] : null,
      to_ts: typeof range['to_ts'] === 'string' ? range['to_ts'] : null,
    },
    records,
    redact,
  }
}

function isFile(value: unknown): boolean {
  if (!isJsonObject(value)) return false
  const { path, bytes, sha256 }: JsonObject = value
  return typeof path === 'string' && isCount(bytes) && isSha256(sha256)
}
