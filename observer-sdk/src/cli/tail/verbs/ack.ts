import { didYouMean, type Input, type Io, usageError } from '@kim/cli-kit'
import { consumerPath, listConsumers, readConsumer, writeConsumer } from '../consume/consumer-file.js'
import { placeAtSeq } from '../consume/find-place.js'
import { noStore } from '../missing.js'
import { createFacts } from '../read/facts.js'
import { PastRecords } from '../read/history.js'
import { locateStore, refuseInside } from '../store-location.js'

/**
 * `kim-tail ack`: what `--commit ack` waits for. It takes no lock, because the process that prints holds the name
 * and, in that mode, never writes the cursor itself.
 */
export function run(input: Input, io: Io): number {
  const name = input.text('consumer')
  const seq = input.number('seq')
  if (name === undefined || seq === undefined)
    throw usageError('ack needs --consumer NAME and --seq N', 'both are in the lines you were given')
  const path = consumerPath(io.env, name)
  const location = locateStore(input, io.env)
  refuseInside(location, path, 'a cursor')
  const past = PastRecords.open(location.eventsDir)
  if (past === undefined) throw noStore(location)
  const before = readConsumer(path)
  if (before === undefined) {
    const known = listConsumers(io.env)
    throw usageError(
      `no consumer "${name}"${didYouMean(name, known)}`,
      'a consumer begins with kim-tail --consumer NAME',
    )
  }
  const facts = createFacts(location.eventsDir)
  if (before.projectId !== facts.projectId()) {
    throw usageError(
      `the consumer "${name}" belongs to another journal`,
      'name that one with --store, or see kim-tail cursors',
    )
  }
  const moves = seq > before.seq
  if (moves) writeConsumer(path, { ...placeAtSeq(past, facts, seq), checkpointSeq: before.checkpointSeq })
  const now = moves ? seq : before.seq
  const said = moves ? `${name} stands after ${now}` : `${name} stands after ${now} already`
  io.stdout.write(
    input.bool('json')
      ? `${JSON.stringify({ consumer: name, moved: moves, ok: true, seq: now })}\n`
      : `${said}\n`,
  )
  return 0
}
