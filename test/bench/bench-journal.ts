/** Journals to measure with, as our writer would have made them. */
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  checkpointName,
  type Entity,
  encodeCheckpoint,
  encodeRecord,
  eventsPaths,
  inCheckpointOrder,
  type JsonObject,
  segmentName,
} from '@kim/manifest'
import { Prng } from '../kit/index.js'

const PROJECT = 'beef'.repeat(8)
const WRITER = 'w_31416-9f3c2a'
const TS = '2026-06-10T14:03:22.114Z'
const SEGMENT_BYTES = 10 * 1024 * 1024
const PERSONAS = 20
const WORDS =
  'the build is green again after the last change so please look at the log of the second run and tell me what you think about it before noon because the release waits for you and no-one else can decide'.split(
    ' ',
  )

/** What to make. */
export interface JournalPlan {
  readonly records: number
  /** How many entities the records are about; the first records make them, the others update them at random. */
  readonly entities: number
  /** End with a checkpoint of everything, its ref, and so many records after it. */
  readonly checkpointTail?: number
}

/** What was made. */
export interface MadeJournal {
  readonly bytes: number
  readonly segments: number
}

/** Writes a journal into a directory of its own. */
export function makeJournal(
  eventsDir: string,
  { records, entities, checkpointTail }: JournalPlan,
): MadeJournal {
  const writer = new BenchWriter(eventsDir, records < 100_000 || checkpointTail !== undefined)
  writer.note('genesis', { created: TS, project_id: PROJECT, source: 'http://localhost:7474' })
  const rng = new Prng(7)
  for (let i = 0; i < records; i++) writer.message(i < entities ? i : rng.int(entities), rng)
  if (checkpointTail !== undefined) {
    writer.checkpoint()
    for (let i = 0; i < checkpointTail; i++) writer.message(rng.int(entities), rng)
  }
  return writer.close()
}

class BenchWriter {
  readonly #eventsDir: string
  readonly #revisions = new Map<number, number>()
  readonly #live: Map<string, Entity> | undefined
  #fd = -1
  #name = ''
  #seq = 0
  #size = 0
  #bytes = 0
  #segments = 0
  #pending: string[] = []
  #pendingSize = 0

  constructor(eventsDir: string, keepsLive: boolean) {
    this.#eventsDir = eventsDir
    this.#live = keepsLive ? new Map() : undefined
    rmSync(eventsDir, { recursive: true, force: true })
    mkdirSync(eventsDir, { recursive: true })
    this.#open()
  }

  note(kind: string, payload: JsonObject, action = 'journal_note'): void {
    this.#push(
      encodeRecord({
        v: 2,
        seq: ++this.#seq,
        ts: TS,
        writer: WRITER,
        agent: 'kim',
        action,
        item_type: 'journal',
        item_id: kind,
        entity_rev: 0,
        summary: kind,
        clock: { boot_ms: 1, mono_ms: 1, wait_ms: 0 },
        payload: { ...(action === 'journal_note' ? { kind } : {}), schema_version: 1, ...payload },
      }),
    )
  }

  /** The next image of one of the messages; the line is put together by hand, or a million would take minutes. */
  message(entity: number, rng: Prng): void {
    const persona = `persona-${entity % PERSONAS}`
    const id = Math.floor(entity / PERSONAS) + 1
    const revision = (this.#revisions.get(entity) ?? 0) + 1
    this.#revisions.set(entity, revision)
    const words: string[] = []
    for (let left = 10 + rng.int(20); left > 0; left--) words.push(rng.pick(WORDS))
    const content = words.join(' ')
    const from = `persona-${(entity + 3) % PERSONAS}`
    const seq = ++this.#seq
    const payload = `{"content":"${content}","content_length":${content.length},"created":"${TS}","from":"${from}","id":${id},"persona":"${persona}","read":${revision > 1},"schema_version":1}`
    const event = revision === 1 ? '"event":"new",' : ''
    this.#push(
      `{"action":"${revision === 1 ? 'create' : 'update'}","agent":"${persona}","clock":{"boot_ms":${seq * 7},"mono_ms":${seq * 7}.25,"wait_ms":3},"entity_rev":${revision},${event}"item_id":"${persona}/${id}","item_type":"message","payload":${payload},"seq":${seq},"summary":"from ${from}: ${content.slice(0, 60)}","ts":"${TS}","v":2,"writer":"${WRITER}"}\n`,
    )
    this.#live?.set(`${persona}/${id}`, {
      agent: persona,
      entity_rev: revision,
      item_id: `${persona}/${id}`,
      item_type: 'message',
      payload: JSON.parse(payload) as JsonObject,
      seq,
      ts: TS,
    })
    if (this.#size >= SEGMENT_BYTES) this.roll()
  }

  roll(): void {
    this.#flush()
    closeSync(this.#fd)
    const sealed = this.#name
    this.#open()
    this.note('segment_sealed', {
      bytes: 0,
      first_seq: 1,
      last_seq: this.#seq,
      project_id: PROJECT,
      segment: sealed,
      sha256: '0'.repeat(64),
    })
  }

  checkpoint(): void {
    const head = this.#seq
    this.roll()
    const entities = inCheckpointOrder(this.#live?.values() ?? [])
    const header = {
      project_id: PROJECT,
      head_seq: head,
      head_writer: WRITER,
      capabilities: [],
      entity_count: entities.length,
      revisions: [],
      keys: [],
      chain: { segment: segmentName(1), sha256: '0'.repeat(64) },
    }
    const document = Buffer.from([...encodeCheckpoint(header, entities)].join(''))
    const { checkpoints } = eventsPaths(this.#eventsDir)
    mkdirSync(checkpoints)
    writeFileSync(join(checkpoints, checkpointName(head)), document)
    this.note(
      'checkpoint_ref',
      {
        bytes: document.length,
        entities: entities.length,
        file: checkpointName(head),
        head_seq: head,
        sha256: createHash('sha256').update(document).digest('hex'),
      },
      'checkpoint_ref',
    )
  }

  close(): MadeJournal {
    this.#flush()
    closeSync(this.#fd)
    return { bytes: this.#bytes, segments: this.#segments }
  }

  #open(): void {
    this.#name = segmentName(this.#seq + 1)
    this.#fd = openSync(join(this.#eventsDir, this.#name), 'w')
    this.#size = 0
    this.#segments += 1
  }

  #push(line: string): void {
    this.#pending.push(line)
    this.#size += line.length
    this.#bytes += line.length
    this.#pendingSize += line.length
    if (this.#pendingSize > 1024 * 1024) this.#flush()
  }

  #flush(): void {
    writeSync(this.#fd, this.#pending.join(''))
    this.#pending = []
    this.#pendingSize = 0
  }
}

/** True if a directory of that name was made before, to be measured again. */
export function isMade(eventsDir: string): boolean {
  return statSync(eventsDir, { throwIfNoEntry: false })?.isDirectory() === true
}
