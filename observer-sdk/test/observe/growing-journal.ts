import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  archivedSegmentName,
  type EventRecord,
  encodeRecord,
  eventsPaths,
  type JsonObject,
  segmentName,
  type Tx,
} from '@kim/manifest'
import type { Test } from 'tap'

/** The project of these journals, unless a test begins another. */
export const PROJECT = 'c0ffee00c0ffee00c0ffee00c0ffee00'

/** What a test says of a record; the rest is what our writer would put there. */
export type Draft = Partial<EventRecord>

/** A journal of a test, closed at its end. */
export function journalIn(
  t: Test,
  eventsDir: string = join(t.testdir({}), 'events'),
  projectId: string = PROJECT,
): GrowingJournal {
  const journal = new GrowingJournal(eventsDir, projectId)
  t.teardown(() => journal.close())
  return journal
}

/** A journal that grows as a writer makes it grow: through one descriptor that stays open. */
export class GrowingJournal {
  readonly eventsDir: string
  seq = 0
  writer = 'w_1-abc'
  #fd = -1
  #segment = 0
  readonly #revisions = new Map<string, number>()

  constructor(eventsDir: string, projectId = PROJECT) {
    this.eventsDir = eventsDir
    mkdirSync(eventsDir, { recursive: true })
    this.#open()
    this.append(this.note('genesis', { project_id: projectId }))
  }

  /** The descriptor it writes through. */
  get fd(): number {
    return this.#fd
  }

  get segment(): number {
    return this.#segment
  }

  /** The line of one record, its number taken. */
  line(draft: Draft = {}): string {
    this.seq += 1
    const { item_type = 'message', item_id = `river/${this.seq}` } = draft
    const key = JSON.stringify([item_type, item_id])
    const revision = (this.#revisions.get(key) ?? 0) + 1
    this.#revisions.set(key, revision)
    const persona = item_id.split('/')[0] ?? ''
    return encodeRecord({
      v: 2,
      seq: this.seq,
      ts: '2026-06-10T14:03:22.114Z',
      writer: this.writer,
      agent: persona,
      action: 'create',
      item_type,
      item_id,
      entity_rev: revision,
      summary: `record ${this.seq}`,
      payload: { schema_version: 1, persona, id: this.seq, read: false },
      event: 'new',
      ...draft,
    })
  }

  note(kind: string, payload: JsonObject = {}): string {
    const action = kind === 'seq_repair' || kind === 'checkpoint_ref' ? kind : 'journal_note'
    this.seq += 1
    return encodeRecord({
      v: 2,
      seq: this.seq,
      ts: '2026-06-10T14:03:22.114Z',
      writer: this.writer,
      agent: 'kim',
      action,
      item_type: 'journal',
      item_id: kind,
      entity_rev: 0,
      summary: kind,
      payload: { schema_version: 1, ...(action === 'journal_note' ? { kind } : {}), ...payload },
    })
  }

  /** Appends bytes as they are. */
  append(text: string | Uint8Array): void {
    writeSync(this.#fd, typeof text === 'string' ? Buffer.from(text) : text)
  }

  /** Appends so many records in one write. */
  grow(records = 1, draft: Draft = {}): void {
    this.append(Array.from({ length: records }, () => this.line(draft)).join(''))
  }

  /** Appends one transaction, or only its first lines. */
  transaction(n: number, written = n, id = `t${this.seq}`): void {
    for (let i = 1; i <= written; i++) {
      const tx: Tx = { id, i, n }
      this.append(this.line({ tx }))
    }
  }

  roll(): void {
    closeSync(this.#fd)
    const sealed = segmentName(this.#segment)
    this.#open()
    this.append(this.note('segment_sealed', { segment: sealed, project_id: PROJECT }))
  }

  /** Parks a sealed segment. */
  archive(number: number, content?: Uint8Array): void {
    const { archive } = eventsPaths(this.eventsDir)
    mkdirSync(archive, { recursive: true })
    const live = join(this.eventsDir, segmentName(number))
    if (content === undefined) {
      renameSync(live, join(archive, segmentName(number)))
      return
    }
    writeFileSync(join(archive, archivedSegmentName({ first: number, gzipped: true })), gzipSync(content))
    rmSync(live)
  }

  put(path: string, content: string | Uint8Array): void {
    mkdirSync(dirname(join(this.eventsDir, path)), { recursive: true })
    writeFileSync(join(this.eventsDir, path), content)
  }

  close(): void {
    closeSync(this.#fd)
  }

  #open(): void {
    this.#segment = this.seq + 1
    this.#fd = openSync(join(this.eventsDir, segmentName(this.#segment)), 'a', 0o600)
  }
}
