import { createHash } from 'node:crypto'

/** One live entity, as the digest sees it. */
export interface DigestEntity {
  itemType: string
  itemId: string
  rev: number | undefined
  hash: string
}

export function sha256Hex(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** RFC 8785: keys in UTF-16 order, no white space; JSON.stringify writes scalars as it asks. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}

/** One line per entity, lines in the order of their UTF-8 bytes, hashed together. */
export function projectionDigest(entities: readonly DigestEntity[]): string {
  const lines = entities.map(one =>
    Buffer.from(`${one.itemType}\t${one.itemId}\t${one.rev ?? ''}\t${one.hash}\n`, 'utf8'),
  )
  return sha256Hex(Buffer.concat(lines.sort(Buffer.compare)))
}
