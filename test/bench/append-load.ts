import { closeSync, constants, fdatasyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { parseSegmentName, storePaths } from '@kim/manifest'
import { type Draft, type Journal, openJournal } from '@kim/producer/internal'

/** How much of everything is done. */
export interface AppendSizes {
  readonly singles: number
  readonly batches: number
  readonly batchRecords: number
  /** Entities that are live while the checkpoint is built. */
  readonly live: number
}

// A producer runs for days: so many that most of them meet compiled code.
export const fullSizes: AppendSizes = { singles: 12_000, batches: 60, batchRecords: 1000, live: 100_000 }
export const tinySizes: AppendSizes = { singles: 20, batches: 3, batchRecords: 50, live: 2000 }

/** Bytes of a line, the `\n` included, give or take a digit. */
const LINE_BYTES = 500

/** What a line holds besides the body. */
const FRAME_BYTES = 419

/** One message, whose line is as long as a raw record. */
function message(id: number): Draft {
  const content = 'tests are green '.repeat(16).slice(0, LINE_BYTES - FRAME_BYTES)
  return {
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${id}`,
    summary: 'from argus: tests',
    event: 'new',
    payload: {
      persona: 'river',
      id,
      from: 'argus',
      content,
      content_length: content.length,
      created: '2026-06-10T14:03:21Z',
      read: false,
      schema_version: 1,
    },
  }
}

/** Ids all of one width, so that every line is of one length. */
const FIRST_ID = 1_000_001

const messages = (from: number, count: number): Draft[] =>
  Array.from({ length: count }, (_, index) => message(FIRST_ID + from + index))

/** What anything must cost that is on the disk when it returns: one write and one sync. */
class RawFile {
  readonly #fd: number

  constructor(path: string) {
    this.#fd = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600)
  }

  append(bytes: Uint8Array): void {
    writeSync(this.#fd, bytes, 0, bytes.length)
    fdatasyncSync(this.#fd)
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function timed(step: () => void): number {
  const begun = performance.now()
  step()
  return performance.now() - begun
}

export interface Pair {
  readonly raw: number[]
  readonly ours: number[]
  /** Bytes of a line, as found in the store. */
  readonly lineBytes: number
}

const open = (storeDir: string): Journal => openJournal({ storeDir, source: 'http://localhost:7474' })

/** Raw and ours in turns, batch by batch, so that whatever else the disk does meets both. Times in ms. */
export function measureAppends(root: string, name: string, count: number, records: number): Pair {
  const journal = open(join(root, name))
  const file = new RawFile(join(root, `${name}.raw`))
  const raw: number[] = []
  const ours: number[] = []
  const bytes = Buffer.alloc(records * LINE_BYTES, 'x')
  // The first tenth is for the compiler.
  const warmUp = Math.ceil(count / 10)
  for (let n = -warmUp; n < count; n++) {
    const drafts = messages((n + warmUp) * records, records)
    const both = [
      () => raw.push(timed(() => file.append(bytes))),
      () => ours.push(timed(() => journal.append(drafts))),
    ]
    for (const one of n % 2 === 0 ? both : both.reverse()) one()
  }
  journal.close()
  file.close()
  return { raw: raw.slice(warmUp), ours: ours.slice(warmUp), lineBytes: lineLength(join(root, name)) }
}

/** The length of the last line in the newest segment. */
function lineLength(storeDir: string): number {
  const { events } = storePaths(storeDir)
  const newest = readdirSync(events)
    .filter(name => parseSegmentName(name) !== undefined)
    .sort()
    .at(-1)
  if (newest === undefined) return 0
  const lines = readFileSync(join(events, newest), 'utf8').split('\n')
  return Buffer.byteLength(lines.at(-2) ?? '') + 1
}

export interface Waits {
  /** Each append while a checkpoint is built, in ms: the slice that may run when it comes, and itself. */
  readonly waits: number[]
  /** Each append for itself. */
  readonly appends: number[]
  readonly checkpoints: number
  readonly live: number
}

/** Single appends while checkpoints of everything are built: the first from nothing, the second from the first. */
export function measureCheckpoints(root: string, live: number): Waits {
  const journal = open(join(root, 'checkpoints'))
  const waits: number[] = []
  const appends: number[] = []
  const chunk = Math.min(1000, live)
  let made = 0
  for (; made < live; made += chunk) journal.append(messages(made, chunk))
  let checkpoints = 0
  for (let round = 0; round < 2; round++) {
    const before = journal.checkpointSeq
    journal.roll()
    for (let slice = 0, isMore = true; isMore; ) {
      const draft = message(FIRST_ID + made++)
      const own = timed(() => journal.append([draft]))
      appends.push(own)
      waits.push(slice + own)
      slice = timed(() => {
        isMore = journal.upkeep()
      })
    }
    if (journal.checkpointSeq > before) checkpoints++
  }
  const { size } = journal.state
  journal.close()
  return { waits, appends, checkpoints, live: size }
}
