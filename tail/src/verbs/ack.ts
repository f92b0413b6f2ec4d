import { didYouMean, type Input, type Io, locateStore, type StoreLocation, usageError } from '@kim/cli-kit'
import { consumerPath, listConsumers, readConsumer, writeConsumer } from '@kim/observer-sdk/consumers'
import { refuseInside, requireHistory } from '../journal.js'
import { cursorAt, withConsumer } from './cursors.js'

/**
 * `kim-tail ack`: moves the cursor of a consumer with `--commit ack`. It does not lock the consumer's name, because the
 * process that prints holds that lock and never moves the cursor itself. A lock of its own lets one ack run at a time.
 */
export async function run(input: Input, io: Io): Promise<number> {
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
  if (readConsumer(path) === undefined) throw unknownConsumer(name, io)
  const { before, now } = await withConsumer(`${path}.ack`, io, () =>
    acknowledge(name, path, seq, location, io),
  )
  const said =
    now > before ? `${name}: cursor moved to seq ${now}` : `${name}: cursor is already at seq ${now}`
  io.stdout.write(
    input.bool('json')
      ? `${JSON.stringify({ consumer: name, moved: now > before, ok: true, seq: now })}\n`
      : `${said}\n`,
  )
  return 0
}

function unknownConsumer(name: string, io: Io): Error {
  const known = listConsumers(io.env)
  return usageError(
    `no consumer "${name}"${didYouMean(name, known)}`,
    'create a consumer with: kim-tail -f --commit ack --consumer NAME',
  )
}

/** Moves the cursor forward, or leaves it. */
function acknowledge(
  name: string,
  path: string,
  seq: number,
  location: StoreLocation,
  io: Io,
): { readonly before: number; readonly now: number } {
  const past = requireHistory(location)
  const before = readConsumer(path)
  if (before === undefined) throw unknownConsumer(name, io)
  if (before.projectId !== past.projectId) {
    throw usageError(
      `the consumer "${name}" belongs to another journal`,
      'name its journal with --store DIR; list the cursors: kim-tail cursors ls',
    )
  }
  if (seq > before.seq) writeConsumer(path, { ...cursorAt(past, seq), checkpointSeq: before.checkpointSeq })
  return { before: before.seq, now: Math.max(seq, before.seq) }
}
