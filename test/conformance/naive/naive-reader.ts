import { findCheckpoint, type VerifiedCheckpoint } from './checkpoint.js'
import { attentionOf, effectOf, entersActivity, sectionsOf, wakeOf } from './classify.js'
import { type Gap, handOver, noteKind, readCursor, type StoredRecord } from './cursor.js'
import { canonicalJson, projectionDigest, sha256Hex } from './digest.js'
import {
  countMisnamed,
  isDirectory,
  isEndUnreadable,
  listCheckpoints,
  listSegments,
  readBlob,
  type SegmentFile,
  splitLines,
} from './files.js'
import {
  type BlobRef,
  decodeLine,
  field,
  isSafe,
  type NaiveLine,
  type NaiveRecord,
  payloadIn,
} from './line.js'
import type { Rules } from './rules.js'
import { judgeTransactions, type Release } from './transactions.js'

/** The shape of `expect.json`, but for `verify_exit`. */
export interface NaiveResult {
  activity: number[]
  anomalies: Record<string, number>
  attention_required: number
  cursor: { checkpoint_seq: number; seq: number; writer: string | null }
  digest: string
  entities: number
  gap: Gap | null
  head_seq: number
  news: { seq: number; wake: string }[]
  registry_authoritative: boolean
  sections: Record<string, string[]>
  status: { kind: 'live' | 'no_store' | 'degraded' | 'incomplete'; reasons: string[] }
}

/** One line of the journal, with all that later steps ask of it. */
interface Entry {
  line: NaiveLine
  release: Release | undefined
  text: string
  segment: number
}

interface Range {
  from: number
  to: number
}

interface LiveEntity {
  itemType: string
  itemId: string
  rev: number | undefined
  payload: object | undefined
  payloadRef: BlobRef | undefined
}

/**
 * Reads a whole journal the slow and obvious way: every line of every segment, in order, into a Map. Where
 * history does not begin at the beginning and a verified checkpoint covers what is gone, the Map begins with
 * that and the lines are those after it. Never throws for what the directory contains.
 */
export function readNaively(eventsDir: string, cursorFile: unknown, rules: Rules): NaiveResult {
  const { classes, limits } = rules
  const pad = classes.segment_pad
  const segments = listSegments(eventsDir, pad)
  const firstSegment = segments[0]?.number ?? 1
  const all = readEntries(segments, rules)
  const project = projectOf(all, new Set(segments.filter(one => one.live).map(one => one.number)))
  const released = all.flatMap(entry => (entry.release === 'released' ? [recordOf(entry)] : []))
  const { checkpoint, rejected } = findCheckpoint(listCheckpoints(eventsDir, pad), released, project)
  const covers = checkpoint !== undefined && checkpoint.headSeq >= firstSegment - 1
  const base = firstSegment > 1 && covers ? checkpoint : undefined
  const after = base?.headSeq ?? firstSegment - 1
  const scan = new Scan(rules, base, after)
  for (const entry of base === undefined ? all : tailOf(base, all)) scan.take(entry)
  scan.anomalies.add('checkpoint_rejected', rejected)
  scan.anomalies.add('segment_misnamed', countMisnamed(eventsDir, pad))
  scan.countHoles()

  let attention = 0
  for (const entity of scan.state.values()) {
    const payload = entity.payload ?? loadBlob(entity.payloadRef, eventsDir, scan.anomalies, rules)
    if (payload !== undefined) attention += attentionOf(entity.itemType, payload, classes)
  }

  const { head } = scan
  const cursor = readCursor(cursorFile)
  const exists = isDirectory(eventsDir)
  const delivery =
    cursor === undefined || !exists
      ? { records: scan.applied, gap: null }
      : handOver(cursor, handable(all), head.seq, firstSegment, isEndUnreadable(eventsDir, pad, segments))
  const news = cursor === undefined ? [] : delivery.records

  return {
    activity: scan.applied
      .filter(record => entersActivity(record, classes))
      .map(record => record.seq)
      .slice(-limits.activity_records_max.value),
    anomalies: scan.anomalies.counts(),
    attention_required: attention,
    cursor: { checkpoint_seq: checkpoint?.headSeq ?? 0, seq: head.seq, writer: head.writer },
    digest: projectionDigest([...scan.state.values()].map(one => ({ ...one, hash: hashOf(one) }))),
    entities: scan.state.size,
    gap: delivery.gap,
    head_seq: head.seq,
    news: news.flatMap(record => {
      const wake = wakeOf(record, classes)
      return wake === undefined ? [] : [{ seq: record.seq, wake }]
    }),
    registry_authoritative:
      scan.applied.some(record => noteKind(record) === classes.registry.genesis_note) ||
      base?.capabilities.includes('registry_genesis') === true,
    sections: collectSections(delivery.records, rules),
    status: statusOf(exists, firstSegment > 1 && base === undefined, scan.anomalies.has('future')),
  }
}

/** What a writer would put into a checkpoint of everything in a directory. */
export interface NaiveFold {
  readonly head: { readonly seq: number; readonly writer: string | null }
  /** The last record in file order, whatever its seq. */
  readonly last: { readonly seq: number } | undefined
  readonly registryAuthoritative: boolean
  /** Entity lines as objects, keys sorted. */
  readonly entities: readonly object[]
  readonly revisions: readonly (readonly [string, string, number])[]
}

/** Folds a directory of whole segments, for those who make journals to test readers with. */
export function foldNaively(eventsDir: string, rules: Rules): NaiveFold {
  const entries = readEntries(listSegments(eventsDir, rules.classes.segment_pad), rules)
  const scan = new Scan(rules, undefined, 0)
  for (const entry of entries) scan.take(entry)
  const last = entries.findLast(({ line }) => line.kind === 'record')
  return {
    head: scan.head,
    last: last === undefined ? undefined : recordOf(last),
    registryAuthoritative: scan.applied.some(
      record => noteKind(record) === rules.classes.registry.genesis_note,
    ),
    entities: [...scan.state.values()].map(({ itemType, itemId, rev, payload, payloadRef }) => ({
      entity_rev: rev,
      item_id: itemId,
      item_type: itemType,
      payload,
      payload_ref: payloadRef,
      seq: scan.head.seq,
    })),
    revisions: scan.goneRevisions(),
  }
}

/** Every terminated line there is, decoded, with what becomes of it as a member of a run. */
function readEntries(segments: readonly SegmentFile[], rules: Rules): Entry[] {
  const newest = segments.at(-1)?.number
  return segments.flatMap(({ number, bytes }) => {
    const raw = splitLines(bytes)
    const lines = raw.map((line, index) => decodeLine(line, index === 0, rules))
    const releases = judgeTransactions(lines, number === newest)
    return lines.map((line, index) => ({
      line,
      release: releases.get(line),
      text: raw[index]!.toString('latin1'),
      segment: number,
    }))
  })
}

/** What a forward reader holds, one line at a time. */
class Scan {
  readonly state = new Map<string, LiveEntity>()
  readonly anomalies = new Anomalies()
  /** The records that had their effect, in file order. */
  readonly applied: NaiveRecord[] = []
  head: { seq: number; writer: string | null } = { seq: 0, writer: null }
  private readonly rules: Rules
  private readonly revisions = new Map<string, number>()
  private readonly bySeq = new Map<number, NaiveRecord[]>()
  private readonly repeats = new Repeats()
  private readonly holes: Range[] = []
  private highest: number

  constructor(rules: Rules, base: VerifiedCheckpoint | undefined, after: number) {
    this.rules = rules
    this.highest = after
    if (base === undefined) return
    this.head = { seq: base.headSeq, writer: base.headWriter }
    for (const entity of base.entities) {
      const key = entityKey(entity.itemType, entity.itemId)
      this.state.set(key, entity)
      if (entity.rev !== undefined) this.revisions.set(key, entity.rev)
    }
    for (const { itemType, itemId, rev } of base.revisions)
      this.revisions.set(entityKey(itemType, itemId), rev)
  }

  take(entry: Entry): void {
    const { line } = entry
    if (line.kind === 'blank' || entry.release === 'pending') return
    if (line.kind === 'malformed') {
      this.anomalies.add('malformed', 1)
    } else if (line.kind === 'future') {
      this.anomalies.add('future', 1)
      if (line.seq !== undefined) this.continueTo(line.seq)
    } else if (entry.release === 'incomplete') {
      this.anomalies.add('tx_incomplete', 1)
      this.pass(line.record)
    } else if (this.repeats.isRepeat(entry)) {
      this.anomalies.add('duplicate_line', 1)
    } else {
      this.countDuplicate(line.record)
      this.pass(line.record)
      this.apply(line.record)
    }
  }

  goneRevisions(): (readonly [string, string, number])[] {
    return [...this.revisions]
      .filter(([key]) => !this.state.has(key))
      .map(([key, rev]) => [...(JSON.parse(key) as [string, string]), rev] as const)
  }

  countHoles(): void {
    const repairs = this.applied.flatMap(repairOf)
    this.anomalies.add('seq_hole', this.holes.filter(hole => !isRepaired(hole, repairs)).length)
  }

  /** What every valid record does that is not pending: it takes its number, and its reference is looked at. */
  private pass(record: NaiveRecord): void {
    this.continueTo(record.seq)
    if (record.seq >= this.head.seq) this.head = { seq: record.seq, writer: record.writer }
    if (record.refIgnored) this.anomalies.add('payload_ref_ignored', 1)
    if (record.refInvalid) this.anomalies.add('payload_ref_invalid', 1)
  }

  private continueTo(seq: number): void {
    if (seq > this.highest + 1) this.holes.push({ from: this.highest + 1, to: seq - 1 })
    this.highest = Math.max(this.highest, seq)
  }

  private countDuplicate(record: NaiveRecord): void {
    const earlier = this.bySeq.get(record.seq) ?? []
    this.bySeq.set(record.seq, [...earlier, record])
    if (earlier.length === 0) {
      if (record.seq <= this.highest) this.anomalies.add('seq_regressed', 1)
    } else if (earlier.some(other => other.writer === record.writer)) {
      this.anomalies.add('duplicate_same_writer', 1)
    } else if (earlier.some(other => this.isSameRevision(record, other))) {
      this.anomalies.add('duplicate_overwrite', 1)
    } else {
      this.anomalies.add('duplicate_other_writer', 1)
    }
  }

  private isSameRevision(a: NaiveRecord, b: NaiveRecord): boolean {
    if (!changesState(a, this.rules) || !changesState(b, this.rules)) return false
    return a.itemType === b.itemType && a.itemId === b.itemId && a.rev !== undefined && a.rev === b.rev
  }

  private apply(record: NaiveRecord): void {
    this.applied.push(record)
    const { itemType, itemId, rev, payload, payloadRef } = record
    if (!changesState(record, this.rules) || itemId === undefined) return
    const key = entityKey(itemType, itemId)
    const previous = this.revisions.get(key)
    if (rev !== undefined && previous !== undefined && rev > previous + 1)
      this.anomalies.add('entity_rev_jump', 1)
    if (rev !== undefined) this.revisions.set(key, rev)
    if (effectOf(record, this.rules.classes) === 'remove') this.state.delete(key)
    else this.state.set(key, { itemType, itemId, rev, payload, payloadRef })
  }
}

/** Finds lines whose bytes an earlier record's line of the same segment had. */
class Repeats {
  private readonly seen = new Map<number, Set<string>>()

  isRepeat({ segment, text }: Entry): boolean {
    const lines = this.seen.get(segment) ?? new Set()
    this.seen.set(segment, lines)
    if (lines.has(text)) return true
    lines.add(text)
    return false
  }
}

/** The records of all available history that a cursor may stand between. */
function handable(entries: readonly Entry[]): StoredRecord[] {
  const repeats = new Repeats()
  return entries
    .filter(entry => entry.release === 'released' && !repeats.isRepeat(entry))
    .map(entry => ({ ...recordOf(entry), segment: entry.segment }))
}

/** The lines after the one that holds a checkpoint's head; if that is gone, the segments above it. */
function tailOf(base: VerifiedCheckpoint, entries: readonly Entry[]): Entry[] {
  const last = entries.findLastIndex(
    ({ line }) =>
      line.kind === 'record' && line.record.seq === base.headSeq && line.record.writer === base.headWriter,
  )
  return last === -1 ? entries.filter(entry => entry.segment > base.headSeq) : entries.slice(last + 1)
}

function changesState(record: NaiveRecord, rules: Rules): boolean {
  const effect = effectOf(record, rules.classes)
  return effect === 'upsert' || effect === 'remove'
}

class Anomalies {
  private readonly map = new Map<string, number>()

  add(kind: string, times: number): void {
    if (times > 0) this.map.set(kind, (this.map.get(kind) ?? 0) + times)
  }

  has(kind: string): boolean {
    return this.map.has(kind)
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.map].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** The project a journal belongs to: what the first record of a live segment says. */
function projectOf(entries: readonly Entry[], liveSegments: ReadonlySet<number>): string | undefined {
  const seen = new Set<number>()
  for (const entry of entries) {
    if (entry.release !== 'released' || !liveSegments.has(entry.segment) || seen.has(entry.segment)) continue
    seen.add(entry.segment)
    const record = recordOf(entry)
    if (noteKind(record) !== 'genesis' && noteKind(record) !== 'segment_sealed') continue
    const project = field(record.payload ?? {}, 'project_id')
    if (typeof project === 'string') return project
  }
  return undefined
}

function repairOf(record: NaiveRecord): Range[] {
  if (record.action !== 'seq_repair' || record.payload === undefined) return []
  const from = field(record.payload, 'from')
  const to = field(record.payload, 'to')
  return isSafe(from) && isSafe(to) && from >= 1 && from <= to ? [{ from, to }] : []
}

/** Whether every number of a hole is covered. */
function isRepaired(hole: Range, repairs: readonly Range[]): boolean {
  let next = hole.from
  for (const repair of [...repairs].sort((a, b) => a.from - b.from)) {
    if (repair.from <= next) next = Math.max(next, repair.to + 1)
  }
  return next > hole.to
}

function loadBlob(
  ref: BlobRef | undefined,
  eventsDir: string,
  anomalies: Anomalies,
  rules: Rules,
): object | undefined {
  if (ref === undefined) return undefined
  const bytes = readBlob(eventsDir, ref.sha256)
  if (bytes === undefined) {
    anomalies.add('blob_missing', 1)
    return undefined
  }
  if (bytes.length !== ref.bytes || sha256Hex(bytes) !== ref.sha256) {
    anomalies.add('blob_mismatch', 1)
    return undefined
  }
  return payloadIn(bytes.toString('utf8'), rules)
}

function hashOf(entity: LiveEntity): string {
  return entity.payload === undefined
    ? (entity.payloadRef?.sha256 ?? '')
    : sha256Hex(canonicalJson(entity.payload))
}

function collectSections(records: readonly NaiveRecord[], rules: Rules): Record<string, string[]> {
  const found = new Map<string, Set<string>>()
  for (const record of records) {
    const sections = sectionsOf(record, rules.classes)
    if (sections.length === 0) continue
    const all = found.get(record.itemType) ?? new Set()
    for (const section of sections) all.add(section)
    found.set(record.itemType, all)
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([type, sections]) => [type, [...sections].sort()]))
}

function statusOf(exists: boolean, historyGone: boolean, future: boolean): NaiveResult['status'] {
  if (!exists) return { kind: 'no_store', reasons: [] }
  const reasons = [...(future ? ['future'] : []), ...(historyGone ? ['history'] : [])]
  return { kind: historyGone ? 'incomplete' : future ? 'degraded' : 'live', reasons }
}

function recordOf(entry: Entry): NaiveRecord {
  if (entry.line.kind !== 'record') throw new Error('only a record is ever released')
  return entry.line.record
}

function entityKey(itemType: string, itemId: string): string {
  return JSON.stringify([itemType, itemId])
}

/** The part of a result that a cold start owes too. */
export function coldPart(result: NaiveResult): Partial<NaiveResult> {
  const { cursor, digest, entities, gap, head_seq, registry_authoritative } = result
  return { cursor, digest, entities, gap, head_seq, registry_authoritative }
}
