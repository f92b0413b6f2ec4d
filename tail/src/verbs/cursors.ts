/** `kim-tail cursors` and `kim-tail ack`: list, move and delete the saved cursors of this user. */
import {
  didYouMean,
  type Input,
  type Io,
  locateStore,
  printReport,
  safeJson,
  safeText,
  usageError,
} from '@kim/cli-kit'
import { type ConsumerCursor, KimError, type ReadRecord } from '@kim/manifest'
import {
  consumerPath,
  listConsumers,
  lockConsumer,
  readConsumer,
  removeConsumer,
  writeConsumer,
} from '@kim/observer-sdk/consumers'
import type { JournalHistory } from '@kim/observer-sdk/history'
import { factsOf, refuseInside, requireHistory } from '../journal.js'
import { findRecord, whyAbsent } from '../read/find-record.js'

/** `kim-tail cursors ls`: the saved cursors of this user. */
export function listCursors(input: Input, io: Io): number {
  for (const name of listConsumers(io.env)) {
    const cursor = readCursorOf(io, name)
    if (input.bool('json')) io.stdout.write(`${safeJson(JSON.stringify(jsonOf(name, cursor)))}\n`)
    else
      io.stdout.write(
        `${name}\t${typeof cursor === 'string' ? cursor : `${cursor.seq}\t${safeText(cursor.projectId)}`}\n`,
      )
  }
  return 0
}

/** A cursor as JSON; `seq` is null if there is none. */
function jsonOf(name: string, cursor: ConsumerCursor | string): Record<string, string | number | null> {
  const { projectId = null, seq = null, writer = null } = typeof cursor === 'string' ? {} : cursor
  return { consumer: name, project_id: projectId, seq, writer }
}

/** The cursor of a consumer, or why there is none. */
function readCursorOf(io: Io, name: string): ConsumerCursor | string {
  try {
    return readConsumer(consumerPath(io.env, name)) ?? 'deleted'
  } catch (error) {
    if (error instanceof KimError) return 'damaged'
    return `cannot be read (${error instanceof Error && 'code' in error ? error.code : 'unknown'})`
  }
}

/** `kim-tail cursors set`: moves a cursor, also backwards, or creates a consumer. */
export async function setCursor(input: Input, io: Io): Promise<number> {
  const name = input.positional('name') ?? ''
  const seq = input.number('seq')
  if ((seq === undefined) === !input.bool('head'))
    throw usageError(
      'cursors set needs either --seq or --head',
      'give --seq N (0 for the beginning), or --head',
    )
  const path = consumerPath(io.env, name)
  const location = locateStore(input, io.env)
  refuseInside(location, path, 'a cursor')
  const past = requireHistory(location)
  const cursor = cursorAt(past, seq ?? past.newest()?.record)
  const dry = input.bool('dry-run')
  const known = listConsumers(io.env)
  if (!dry) await withConsumer(path, io, () => writeConsumer(path, cursor))
  const said = { consumer: name, dry_run: dry, ok: true, seq: cursor.seq }
  const text = known.includes(name)
    ? `cursor ${dry ? 'would move' : 'moved'} to seq ${cursor.seq}`
    : `${dry ? 'would be a ' : ''}new consumer, cursor at seq ${cursor.seq}${didYouMean(name, known)}`
  printReport(io, input.bool('json'), said, [`${name}: ${text}`])
  return 0
}

/** `kim-tail cursors rm`: deletes a consumer. */
export async function removeCursor(input: Input, io: Io): Promise<number> {
  const name = input.positional('name') ?? ''
  const known = listConsumers(io.env)
  const path = consumerPath(io.env, name)
  if (!known.includes(name))
    throw usageError(
      `no consumer "${name}"${didYouMean(name, known)}`,
      'list the consumers: kim-tail cursors ls',
    )
  const dry = input.bool('dry-run')
  if (!dry) await withConsumer(path, io, () => removeConsumer(path))
  const said = dry ? `would delete ${name}` : `deleted ${name}`
  printReport(io, input.bool('json'), { consumer: name, dry_run: dry, ok: true }, [said])
  return 0
}

/**
 * `kim-tail ack`: moves the cursor of a consumer with `--commit ack`. It does not lock the consumer's name, because the
 * process that prints holds that lock and never moves the cursor itself. A lock of its own lets one ack run at a time.
 */
export async function acknowledge(input: Input, io: Io): Promise<number> {
  const name = input.text('consumer')
  const seq = input.number('seq')
  if (name === undefined || seq === undefined)
    throw usageError(
      'ack needs --consumer NAME and --seq N',
      'NAME is the name that you gave to kim-tail --consumer; N is the seq of the last event that you handled',
    )
  const path = consumerPath(io.env, name)
  const location = locateStore(input, io.env)
  refuseInside(location, path, 'a cursor')
  const stored = (): ConsumerCursor => {
    const cursor = readConsumer(path)
    if (cursor !== undefined) return cursor
    throw usageError(
      `no consumer "${name}"${didYouMean(name, listConsumers(io.env))}`,
      'create a consumer with: kim-tail -f --commit ack --consumer NAME',
    )
  }
  stored()
  const { before, now } = await withConsumer(`${path}.ack`, io, () => {
    const past = requireHistory(location)
    const { checkpointSeq, projectId, seq: before } = stored()
    if (projectId !== past.projectId)
      throw usageError(
        `the consumer "${name}" belongs to another journal`,
        'name its journal with --store DIR; list the cursors: kim-tail cursors ls',
      )
    if (seq > before) writeConsumer(path, { ...cursorAt(past, seq), checkpointSeq })
    return { before, now: Math.max(seq, before) }
  })
  const moved = now > before
  const said = `${name}: cursor ${moved ? 'moved to' : 'is already at'} seq ${now}`
  printReport(io, input.bool('json'), { consumer: name, moved, ok: true, seq: now }, [said])
  return 0
}

/** The cursor after a record. Of a seq the record must exist: a cursor above the head would be a gap. */
function cursorAt(past: JournalHistory, at: number | ReadRecord | undefined): ConsumerCursor {
  const isBeginning = at === undefined || at === 0
  const { seq, writer = null } = isBeginning ? { seq: 0 } : typeof at === 'number' ? recordAt(past, at) : at
  return { projectId: past.projectId, seq, writer, checkpointSeq: 0 }
}

function recordAt(past: JournalHistory, seq: number): ReadRecord {
  const found = findRecord(past, { kind: 'seq', seq, text: String(seq) }, factsOf(past))
  if (found.kind === 'record') return found.entry.record
  const why = whyAbsent(past, found)
  const what = why.hint === undefined ? 'record' : 'readable record'
  throw new KimError('no_record', `the journal has no ${what} with seq ${seq}`, why)
}

/** Changes a consumer's file while no other process uses the name. */
async function withConsumer<T>(path: string, io: Io, use: () => T): Promise<T> {
  const lock = await lockConsumer(path, {
    onWait: () => io.stderr.write('kim-tail: another process uses the consumer; waiting for it\n'),
    // One small write is over long before another process could take the name.
    onLost: () => {},
    signal: io.signal,
  })
  try {
    return use()
  } finally {
    await lock.release()
  }
}
