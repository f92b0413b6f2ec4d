import { entityKey, isJsonObject, type JsonObject } from '@kim/manifest'
import { digestIn, type FileDigest, isSameDigest } from './file-digest.js'
import type { FindingLocation, FindingLog } from './findings.js'

interface Rewrite {
  readonly before: FileDigest
  readonly after: FileDigest
  readonly place: FindingLocation
}

/** What redactions say they made of the segments. */
export class RedactionCheck {
  readonly #log: FindingLog
  readonly #rewrites = new Map<string, Rewrite[]>()
  readonly #entities = new Map<string, number>()

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A redaction note. */
  note(payload: JsonObject, place: FindingLocation & { readonly seq: number }): void {
    const { item_type: type, item_id: id, files } = payload
    if (typeof type === 'string' && typeof id === 'string') this.#entities.set(entityKey(type, id), place.seq)
    if (!Array.isArray(files)) return
    for (const file of files) {
      if (!isJsonObject(file) || typeof file['segment'] !== 'string') continue
      const before = digestIn(file['before'])
      const after = digestIn(file['after'])
      if (before === undefined || after === undefined) continue
      const earlier = this.#rewrites.get(file['segment'])
      if (earlier === undefined) this.#rewrites.set(file['segment'], [{ before, after, place }])
      else earlier.push({ before, after, place })
    }
  }

  /** Seq of the last note that redacts this entity, if one does. */
  redactedAt(type: string, id: string): number | undefined {
    return this.#entities.get(entityKey(type, id))
  }

  /** Seq of the newest redaction, 0 if there is none. */
  get newest(): number {
    let newest = 0
    for (const seq of this.#entities.values()) newest = Math.max(newest, seq)
    return newest
  }

  /** Every digest that a segment may rightly have had, from its seal to the last redaction of it. */
  digestsOf(segment: string, sealed: FileDigest | undefined): FileDigest[] {
    const path = sealed === undefined ? [] : [sealed]
    for (const { before, after } of this.#rewrites.get(segment) ?? []) {
      const last = path.at(-1)
      if (last === undefined) path.push(before, after)
      else if (isSameDigest(last, before)) path.push(after)
    }
    return path
  }

  /** Judges one sealed segment: its bytes are those of its seal, or redactions lead from one to the other. */
  segment(name: string, sealed: FileDigest | undefined, actual: FileDigest, place: FindingLocation): void {
    const path = this.digestsOf(name, sealed)
    if (path.length === 0) return
    const at = path.findLastIndex(digest => isSameDigest(digest, actual))
    if (at < 0) {
      const stated = path.at(-1)
      const detail = `${name} is ${actual.bytes} bytes ${actual.sha256}, stated ${stated?.bytes} ${stated?.sha256}`
      this.#log.report('chain_broken', place, detail)
      return
    }
    const rewrites = this.#rewrites.get(name)?.length ?? 0
    if (rewrites === 0) return
    if (at < path.length - 1)
      this.#log.report('redaction_pending', { segment: name }, `${name} still has its old content`)
    else this.#log.report('redacted', { segment: name }, `${rewrites} redactions of ${name}`)
  }
}
