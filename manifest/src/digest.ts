import { hash } from 'node:crypto'
import stringify from 'fast-json-stable-stringify'
import type { JsonObject, PayloadRef } from './envelope.js'
import { compareUtf8 } from './utf8-order.js'
import { toWellFormed } from './well-formed.js'

/** The RFC 8785 text of a value; a lone surrogate stays an escape (`\udXXX`). */
export function jcs(value: unknown): string {
  return stringify(value)
}

/** Lower-case hex of the SHA-256 of a text's UTF-8 bytes, or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data)
}

/** The hash under which a payload stands in the digest and, if it is large, in the blobs. */
export function payloadHash(payload: JsonObject): string {
  return sha256Hex(jcs(payload))
}

/** The hash of an entity's payload, as recorded if the payload is in a blob. */
export function entityHash(entity: {
  readonly payload?: JsonObject | undefined
  readonly payload_ref?: PayloadRef | undefined
}): string {
  return entity.payload_ref === undefined ? payloadHash(entity.payload ?? {}) : entity.payload_ref.sha256
}

/** One live entity as the digest sees it. */
export interface DigestEntity {
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev?: number | undefined
  readonly hash: string
}

/** One hash over all live entities, the same for every reader in every language. */
export function projectionDigest(entities: Iterable<DigestEntity>): string {
  const lines: string[] = []
  for (const { item_type: type, item_id: id, entity_rev: rev, hash: payload } of entities) {
    lines.push(toWellFormed(`${type}\t${id}\t${rev ?? ''}\t${payload}\n`))
  }
  return sha256Hex(lines.sort(compareUtf8).join(''))
}
