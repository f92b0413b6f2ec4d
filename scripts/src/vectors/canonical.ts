import { createHash } from 'node:crypto'

// Evidence must be independent of what it judges: this is the third reading of RFC 8785 in the repository,
// and it shares no line with the other two.

/** RFC 8785 text. Keys go by UTF-16 units; numbers and strings are written as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) {
    const parts: string[] = []
    for (const item of value) parts.push(canonicalJson(item))
    return `[${parts.join(',')}]`
  }
  const record = value as Record<string, unknown>
  const parts: string[] = []
  for (const key of Object.keys(record).sort()) {
    if (record[key] !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(record[key])}`)
  }
  return `{${parts.join(',')}}`
}

/** Lower-case hex. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** One live entity: the hash is of its payload's JCS bytes, or the one its `payload_ref` states. */
export interface Live {
  readonly type: string
  readonly id: string
  readonly rev: number | null
  readonly hash: string
}

/** The projection digest: one line an entity, in the order of the lines' UTF-8 bytes. */
export function entitiesDigest(entities: readonly Live[]): string {
  const lines: Buffer[] = []
  for (const { type, id, rev, hash } of entities) {
    lines.push(Buffer.from([type, id, rev === null ? '' : String(rev), hash].join('\t').concat('\n')))
  }
  lines.sort((a, b) => Buffer.compare(a, b))
  return sha256(Buffer.concat(lines))
}
