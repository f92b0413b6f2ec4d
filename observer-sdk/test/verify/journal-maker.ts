import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  blobPath,
  type CheckpointHeader,
  checkpointName,
  type Entity,
  type EventRecord,
  effectOf,
  encodeCheckpoint,
  encodeRecord,
  entityKey,
  forgetsRevision,
  inCheckpointOrder,
  type JsonObject,
  jcs,
  type KeyEntry,
  type Revision,
  recordOf,
  revisionsInOrder,
  segmentName,
  sha256Hex,
} from '@kim/manifest'

/** The project of every hand-made journal. */
export const projectId = 'c0ffee00c0ffee00c0ffee00c0ffee00'

/** What a test says of a record; the rest is what our writer would put there. */
export type DraftRecord = Partial<EventRecord>

interface Segment {
  readonly number: number
  /** Content as latin1, so that any byte can stand in it. */
  text: string
  first: number | undefined
  last: number | undefined
}

/** What a checkpoint is made of. */
export interface CheckpointDraft {
  readonly header: CheckpointHeader
  readonly entities: readonly Entity[]
}

/** What a test puts in place of it. */
export interface Tampering {
  readonly header?: Partial<CheckpointHeader>
  readonly entities?: readonly Entity[]
}

const toBytes = (utf8: string): string => Buffer.from(utf8, 'utf8').toString('latin1')

/** Makes the journal our writer would make, and everything it would never make. */
export class JournalMaker {
  readonly segments: Segment[] = []
  readonly files = new Map<string, Buffer>()
  readonly live = new Map<string, Entity>()
  readonly revisions = new Map<string, Revision>()
  readonly keys: KeyEntry[] = []
  capabilities: string[] = []
  writer = 'w_1-abc'
  next = 1
  #minute = 0

  /** Begins a journal; `native` false begins it without a genesis note. */
  constructor({ native = true, first = 1 } = {}) {
    this.next = first
    this.segments.push({ number: first, text: '', first: undefined, last: undefined })
    const source = 'http://localhost:7474'
    if (native) this.note('genesis', { project_id: projectId, source, created: this.ts })
  }

  get active(): Segment {
    return this.segments.at(-1) as Segment
  }

  get ts(): string {
    return new Date(Date.UTC(2026, 5, 10, 14, this.#minute)).toISOString()
  }

  /** Lets time pass. */
  pass(days: number): void {
    this.#minute += days * 24 * 60
  }

  /** A whole record. */
  build(draft: DraftRecord): EventRecord {
    const action = draft.action ?? 'create'
    const item_type = draft.item_type ?? 'message'
    const item_id = draft.item_id ?? `river/${this.next}`
    const isChange = effectOf({ action, item_type, item_id, payload: {} }) !== 'meta'
    const isBare = action === 'delete' || draft.payload_ref !== undefined
    return {
      v: 2,
      seq: this.next,
      ts: this.ts,
      writer: this.writer,
      agent: 'river',
      action,
      item_type,
      item_id,
      entity_rev: isChange ? (this.revisions.get(entityKey(item_type, item_id))?.[2] ?? 0) + 1 : 0,
      summary: 'a line',
      ...(isBare ? {} : { payload: { schema_version: 1, n: this.next } }),
      ...draft,
    }
  }

  /** Appends a record and lets it have its effect. */
  add(draft: DraftRecord = {}): EventRecord {
    const record = this.build(draft)
    this.line(encodeRecord(record), record.seq)
    this.apply(record)
    return record
  }

  /** Lets a record have its effect without appending it. */
  apply(record: EventRecord): void {
    this.#minute += 1
    this.next = record.seq + 1
    if (record.key !== undefined) this.keys.push([record.key, record.seq, record.ts])
    const { agent, item_type, item_id, entity_rev, payload, payload_ref, seq, ts } = record
    const key = entityKey(item_type, item_id)
    const effect = effectOf(record)
    if (effect === 'upsert') {
      this.live.set(key, { agent, item_type, item_id, entity_rev, payload, payload_ref, seq, ts })
    }
    if (effect === 'remove') this.live.delete(key)
    if (effect === 'upsert' || effect === 'remove') this.revisions.set(key, [item_type, item_id, entity_rev])
  }

  /** Appends bytes as they are; `seq` if they are a valid record. */
  line(line: string, seq?: number): void {
    this.active.text += toBytes(line)
    if (seq === undefined) return
    this.active.first ??= seq
    this.active.last = seq
  }

  /** Appends a note. */
  note(kind: string, fields: JsonObject, more: DraftRecord = {}): EventRecord {
    const isVerb = kind === 'checkpoint_ref' || kind === 'seq_repair'
    return this.add({
      agent: 'kim',
      action: isVerb ? kind : 'journal_note',
      item_type: 'journal',
      item_id: kind,
      payload: { ...fields, schema_version: 1, ...(isVerb ? {} : { kind }) },
      ...more,
    })
  }

  /** Appends a run; the records beyond `stop` are missing. */
  run(n: number, stop = n, id = `run${this.next}`): void {
    for (let i = 1; i <= stop; i += 1) {
      const record = this.build({ tx: { id, i, n } })
      this.line(encodeRecord(record), record.seq)
      if (stop === n) this.apply(record)
      else this.next = record.seq + 1
    }
  }

  /** The facts a seal states of a segment. */
  sealOf({ number, text, first = number, last = number - 1 }: Segment = this.active): JsonObject {
    const bytes = Buffer.from(text, 'latin1')
    const sha256 = sha256Hex(bytes)
    const segment = segmentName(number)
    return { segment, bytes: bytes.length, sha256, first_seq: first, last_seq: last, project_id: projectId }
  }

  /** Rolls; `seal` changes what the seal states, false leaves it out. */
  roll(seal: JsonObject | false = {}): void {
    const sealed = this.sealOf()
    this.segments.push({ number: this.next, text: '', first: undefined, last: undefined })
    if (seal !== false) this.note('segment_sealed', { ...sealed, ...seal })
  }

  /** A checkpoint of everything up to the last seal; nothing but notes may stand after it. */
  checkpoint(
    tamper: (draft: CheckpointDraft) => Tampering = () => ({}),
    ref: JsonObject | false = {},
  ): string {
    const sealed = this.segments.at(-2) as Segment
    const head_seq = sealed.last as number
    const entities = inCheckpointOrder(this.live.values())
    const gone = [...this.revisions].filter(([key, [type]]) => !this.live.has(key) && !forgetsRevision(type))
    const header: CheckpointHeader = {
      project_id: projectId,
      head_seq,
      head_writer: this.writer,
      capabilities: this.capabilities,
      entity_count: entities.length,
      revisions: revisionsInOrder(gone.map(([, revision]) => revision)),
      keys: [...this.keys],
      chain: { segment: segmentName(sealed.number), sha256: sha256Hex(Buffer.from(sealed.text, 'latin1')) },
    }
    const tampered = tamper({ header, entities })
    const written = tampered.entities ?? entities
    const file = checkpointName(head_seq)
    const bytes = Buffer.from(
      [...encodeCheckpoint({ ...header, entity_count: written.length, ...tampered.header }, written)].join(
        '',
      ),
    )
    this.files.set(join('checkpoints', file), bytes)
    const count = written.length
    if (ref !== false) {
      const facts = { file, sha256: sha256Hex(bytes), bytes: bytes.length, head_seq, entities: count }
      this.note('checkpoint_ref', { ...facts, ...ref })
    }
    return file
  }

  /** Puts a payload into a blob and returns its ref. */
  blob(payload: JsonObject): { sha256: string; bytes: number } {
    const bytes = Buffer.from(jcs(payload))
    const sha256 = sha256Hex(bytes)
    this.files.set(join('blobs', blobPath(sha256)), bytes)
    return { sha256, bytes: bytes.length }
  }

  /** Erases an entity's content in every segment but the active one, and says so. */
  redact(item_type: string, item_id: string, rename = true): void {
    const changed: { segment: Segment; text: string; before: JsonObject; after: JsonObject }[] = []
    const digest = (latin1: string): JsonObject => {
      const bytes = Buffer.from(latin1, 'latin1')
      return { bytes: bytes.length, sha256: sha256Hex(bytes) }
    }
    for (const segment of this.segments.slice(0, -1)) {
      const lines = segment.text.split('\n').map(line => redactLine(line, item_type, item_id))
      const text = lines.join('\n')
      if (text === segment.text) continue
      changed.push({ segment, text, before: digest(segment.text), after: digest(text) })
    }
    const files = changed.map(({ segment, before, after }) => ({
      segment: segmentName(segment.number),
      before,
      after,
    }))
    this.note('redaction', { reason: 'asked for', item_type, item_id, files, part: 1, parts: 1 })
    if (!rename) return
    for (const { segment, text } of changed) segment.text = text
    const key = entityKey(item_type, item_id)
    const image = this.live.get(key)
    if (image !== undefined) {
      const payload = { redacted: true, schema_version: 1 }
      this.live.set(key, { ...image, payload, payload_ref: undefined })
    }
  }

  /** Parks segments below a number. */
  park(below: number, gzip = false): string[] {
    return this.segments
      .filter(segment => segment.number < below)
      .map(segment => {
        const name = join('archive', `${segmentName(segment.number)}${gzip ? '.gz' : ''}`)
        const bytes = Buffer.from(segment.text, 'latin1')
        this.files.set(name, gzip ? gzipSync(bytes) : bytes)
        this.segments.splice(this.segments.indexOf(segment), 1)
        return name
      })
  }

  /** Writes everything below an empty directory. */
  write(dir: string): string {
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { recursive: true })
    for (const { number, text } of this.segments)
      writeFileSync(join(dir, segmentName(number)), text, 'latin1')
    for (const [name, bytes] of this.files) {
      mkdirSync(dirname(join(dir, name)), { recursive: true })
      writeFileSync(join(dir, name), bytes)
    }
    return dir
  }
}

function redactLine(line: string, item_type: string, item_id: string): string {
  const record = recordOf(Buffer.from(line, 'latin1'))
  if (record === undefined || record.item_type !== item_type || record.item_id !== item_id) return line
  const { payload_ref: _, ...raw } = record.raw as unknown as EventRecord
  const redacted = { ...raw, payload: { redacted: true, schema_version: 1 }, summary: 'redacted' }
  return toBytes(encodeRecord(redacted).slice(0, -1))
}
