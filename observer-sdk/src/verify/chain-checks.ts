/** Checks of whole segments: the hash chain, what redactions made of it, and the project that all of them name. */
import {
  entityKey,
  isJsonObject,
  isSeq,
  type JsonObject,
  parseSegmentName,
  type ReadRecord,
} from '@kim/manifest'
import type { ContinuityCheck } from './continuity-check.js'
import type { FindingLocation, FindingLog } from './findings.js'
import { noteKindOf, notePayload } from './line-checks.js'
import { digestIn, type FileDigest, isSameDigest, placeOf, type RecordEntry } from './walk.js'

/** Which project a journal says it is; every genesis note, seal and checkpoint must say the same. */
export class ProjectIdentity {
  readonly #log: FindingLog
  /** The project, once something has named it. */
  id: string | undefined

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A record: a genesis note or a seal names a project. */
  record(record: ReadRecord, place: FindingLocation): void {
    if (record.action !== 'journal_note') return
    const kind = record.payload?.['kind']
    const id = record.payload?.['project_id']
    if ((kind !== 'genesis' && kind !== 'segment_sealed') || typeof id !== 'string' || id === '') return
    this.id ??= id
    if (id !== this.id) this.#log.report('chain_broken', place, `names project ${id}, not ${this.id}`)
  }
}

interface Rewrite {
  readonly before: FileDigest
  readonly after: FileDigest
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
  note({ item_type: type, item_id: id, files }: JsonObject, seq: number): void {
    if (typeof type === 'string' && typeof id === 'string') this.#entities.set(entityKey(type, id), seq)
    if (!Array.isArray(files)) return
    for (const file of files) {
      if (!isJsonObject(file) || typeof file['segment'] !== 'string') continue
      const before = digestIn(file['before'])
      const after = digestIn(file['after'])
      if (before === undefined || after === undefined) continue
      const earlier = this.#rewrites.get(file['segment'])
      if (earlier === undefined) this.#rewrites.set(file['segment'], [{ before, after }])
      else earlier.push({ before, after })
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
      const detail = `${name} was changed: it has ${actual.bytes} bytes with SHA-256 ${actual.sha256}; the journal recorded ${stated?.bytes} bytes, ${stated?.sha256}`
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

/** What reading a segment to its end found. */
export interface SegmentFacts extends FileDigest {
  readonly name: string
  readonly number: number
  /** Seq of the first valid record in file order. */
  readonly firstSeq: number | undefined
  /** Seq of the last valid record in file order. */
  readonly lastSeq: number | undefined
  /** False if part of it could not be read: nothing can be said about its hash. */
  readonly isWhole: boolean
}

/** The hash chain: every segment but the first begins with a seal that describes the one before. */
export class ChainCheck {
  readonly #log: FindingLog
  readonly #redactions: RedactionCheck
  readonly #continuity: ContinuityCheck
  readonly #facts = new Map<string, SegmentFacts>()
  readonly #seals = new Map<string, { readonly digest: FileDigest; readonly place: FindingLocation }>()
  #before: SegmentFacts | undefined
  #number = 0
  #awaitsFirst = true

  constructor(log: FindingLog, redactions: RedactionCheck, continuity: ContinuityCheck) {
    this.#log = log
    this.#continuity = continuity
    this.#redactions = redactions
  }

  /** The lines that follow are those of this segment. */
  beginSegment(number: number): void {
    this.#number = number
    this.#awaitsFirst = true
  }

  /** A valid record. */
  record(entry: RecordEntry): void {
    const isFirst = this.#awaitsFirst
    this.#awaitsFirst = false
    const kind = noteKindOf(entry.record, entry.effect)
    if (kind === 'segment_sealed') this.#seal(entry, isFirst)
    else if (isFirst && this.#number > 1)
      this.#log.report('seal_missing', entry, `${entry.segment} begins without a seal`)
    if (isFirst && this.#number === 1 && kind !== 'genesis')
      this.#log.report('schema', entry, 'the store does not begin with its genesis note')
    if (isFirst && entry.seq < this.#number)
      this.#log.report(
        'chain_broken',
        entry,
        `${entry.segment} begins with seq ${entry.seq}, below the number in its name`,
      )
  }

  /** The segment was read to its end. */
  endSegment(facts: SegmentFacts): void {
    this.#facts.set(facts.name, facts)
    this.#before = facts
  }

  /** Digests that a segment may rightly have had; none if no seal or redaction speaks of it. */
  digestsOf(segment: string): FileDigest[] {
    const path = this.#redactions.digestsOf(segment, this.#seals.get(segment)?.digest)
    const actual = this.#facts.get(segment)
    return actual === undefined ? path : [...path, actual]
  }

  /** The segment whose last valid record has this seq. */
  endingWith(seq: number): SegmentFacts | undefined {
    for (const facts of this.#facts.values()) if (facts.lastSeq === seq) return facts
    return undefined
  }

  /** Judges the digests: the redactions that explain a difference stand in later segments. */
  end(): void {
    for (const facts of this.#facts.values()) {
      if (!facts.isWhole) continue
      const seal = this.#seals.get(facts.name)
      this.#redactions.segment(facts.name, seal?.digest, facts, seal?.place ?? { segment: facts.name })
    }
  }

  #seal(entry: RecordEntry, isFirst: boolean): void {
    const payload = notePayload(entry.record)
    const { segment } = payload
    const digest = digestIn(payload)
    if (!isFirst) this.#log.report('chain_broken', entry, 'the seal is not the first record of its segment')
    if (typeof segment !== 'string' || digest === undefined) return
    const before = this.#before
    if (before?.name === segment) {
      this.#seals.set(segment, { digest, place: placeOf(entry) })
      this.#range(entry, payload, before)
      return
    }
    // A sealed segment that is not available leaves a hole in the numbers, which is reported as that. Where there is
    // none, its records stand under another name, out of the seal's sight.
    const sealedNumber = parseSegmentName(segment) ?? 0
    const isAbsent = sealedNumber > (before?.number ?? 0) && sealedNumber < this.#number
    if (isAbsent && !this.#areKnown(payload)) return
    this.#log.report(
      'chain_broken',
      entry,
      `seals ${segment}, but the segment before it is ${before?.name ?? 'missing'}`,
    )
  }

  /** Whether the records that a seal speaks of were all met, in whatever segment. */
  #areKnown({ first_seq: first, last_seq: last }: JsonObject): boolean {
    return isSeq(first) && isSeq(last) && first <= last && this.#continuity.knowsBetween(first - 1, last + 1)
  }

  #range(entry: RecordEntry, { first_seq: first, last_seq: last }: JsonObject, before: SegmentFacts): void {
    // A segment without a record is sealed with the numbers it would have held next.
    const { number, firstSeq = number, lastSeq = number - 1 } = before
    if (!before.isWhole || (first === firstSeq && last === lastSeq)) return
    this.#log.report(
      'chain_broken',
      entry,
      `${before.name} holds seq ${firstSeq}…${lastSeq}, not ${first}…${last}`,
    )
  }
}
