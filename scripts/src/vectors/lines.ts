import { canonicalJson } from './canonical.js'
import { river1 } from './vector.js'

/** Fields beside the ones every record has; `undefined` takes one away. */
export type More = Readonly<Record<string, unknown>>

/** One line in our writer's frame: sorted keys, every field, ending in `"v":2,"writer":"…"}` and LF. */
export function ours(
  seq: number,
  action: string,
  type: string,
  id: string,
  rev: number,
  more: More = {},
): string {
  return `${oursBare(seq, action, type, id, rev, more)}\n`
}

/** The same without its LF, for lines that are torn or changed by hand. */
export function oursBare(
  seq: number,
  action: string,
  type: string,
  id: string,
  rev: number,
  more: More = {},
): string {
  return canonicalJson({
    action,
    agent: 'river',
    clock: { boot_ms: 5000 + seq, mono_ms: 1000 + seq, wait_ms: 1 },
    entity_rev: rev,
    item_id: id,
    item_type: type,
    seq,
    summary: `${action} ${type}`,
    ts: instant(seq),
    v: 2,
    writer: river1,
    ...more,
  })
}

/** One line of a foreign writer: the fewest fields, in another order, ending in LF. */
export function foreign(seq: number, action: string, type: string, more: More = {}): string {
  return `${JSON.stringify({ v: 2, seq, action, item_type: type, ...more })}\n`
}

/** The instant of a record: one second a seq. */
export function instant(seq: number): string {
  return new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString()
}

/** Bytes one after another; text as UTF-8. */
export function bytes(...parts: readonly (string | Uint8Array | number)[]): Uint8Array {
  return Buffer.concat(
    parts.map(part => (typeof part === 'number' ? Uint8Array.of(part) : Buffer.from(part as Uint8Array))),
  )
}

/** The payload of a message to river. */
export function mail(id: number, content: string, read = false): Record<string, unknown> {
  return {
    content,
    content_length: content.length,
    created: '2026-01-01T00:00:00Z',
    from: 'argus',
    id,
    persona: 'river',
    read,
    schema_version: 1,
  }
}

/** A small payload of no particular kind. */
export function plainPayload(text: string): Record<string, unknown> {
  return { schema_version: 1, text }
}
