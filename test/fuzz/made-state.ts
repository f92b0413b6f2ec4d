import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { jsonText } from './json-text.js'

/** The newest image of a live entity, as a checkpoint would hold it. */
export interface Image {
  readonly item_type: string
  readonly item_id: string
  readonly agent?: unknown
  readonly entity_rev?: unknown
  readonly payload?: unknown
  readonly payload_ref?: unknown
  readonly seq: number
  readonly ts?: unknown
}

/** What the maker knows its journal to mean, so that it can write true checkpoints. */
export class MadeState {
  readonly #live = new Map<string, Image>()
  readonly #revisions = new Map<string, readonly [string, string, number]>()
  /** Whether a registry genesis has had its effect. */
  registry = false

  /** The last revision of an entity, 0 if none is known. */
  revisionOf({ item_type, item_id }: { item_type: string; item_id: string }): number {
    return this.#revisions.get(JSON.stringify([item_type, item_id]))?.[2] ?? 0
  }

  upsert(image: Image): void {
    this.#live.set(this.#know(image), image)
  }

  remove(image: Image): void {
    this.#live.delete(this.#know(image))
  }

  /** The text of a checkpoint of this state. */
  checkpoint(
    head: { seq: number; writer: string | null },
    projectId: string,
    lie: CheckpointLie = {},
  ): string {
    const entities = [...this.#live.values()].sort((a, b) => Buffer.compare(orderOf(a), orderOf(b)))
    const removed = [...this.#revisions]
      .filter(([key, [type]]) => !this.#live.has(key) && type !== 'message')
      .map(([, revision]) => revision)
    const header = {
      capabilities: this.registry ? ['registry_genesis'] : [],
      chain: { segment: 'seg-00000001.jsonl', sha256: sha256('') },
      entity_count: entities.length + (lie.count ?? 0),
      head_seq: head.seq,
      head_writer: head.writer,
      keys: [],
      project_id: projectId,
      revisions: removed,
    }
    const strict = { random: undefined as never, strict: true }
    const lines = entities.map(entity => jsonText(lie.payload ? { ...entity, payload: lie } : entity, strict))
    const opening = `{"checkpoint":${lie.version ?? 1},${jsonText(header, strict).slice(1, -1)},"entities":[\n`
    return `${opening}${lines.map((line, at) => `${line}${at < lines.length - 1 ? ',' : ''}\n`).join('')}]}\n`
  }

  #know(image: Image): string {
    const { item_type, item_id, entity_rev: rev } = image
    const key = JSON.stringify([item_type, item_id])
    if (typeof rev === 'number' && Number.isSafeInteger(rev) && rev >= 0)
      this.#revisions.set(key, [item_type, item_id, rev])
    return key
  }
}

/** What a checkpoint says that is not so. */
export interface CheckpointLie {
  readonly count?: number
  readonly version?: number
  readonly payload?: true
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function orderOf({ item_type, item_id }: Image): Buffer {
  return Buffer.from(`${item_type}\t${item_id}`)
}
