/** The canonical text of values, the order of texts by their bytes, and the hashes of both. */
import { hash } from 'node:crypto'
import stringify from 'fast-json-stable-stringify'
import { type JsonObject, toWellFormed } from './json.js'
import type { PayloadRef } from './record.js'

/** The RFC 8785 text of a value; a lone surrogate stays an escape (`\udXXX`). */
export function jcs(value: unknown): string {
  return stringify(value)
}

/** Lower-case hex of the SHA-256 of a text's UTF-8 bytes, or of bytes. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data)
}

/** The hash of a payload in the digest and, if the payload is large, in the name of its blob. */
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

/** Code units in the order of the UTF-8 bytes they become: surrogates come last. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares two well-formed texts by their UTF-8 bytes, without making them. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}
