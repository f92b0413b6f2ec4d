import { type Input, type Io, locateStore, usageError } from '@kim/cli-kit'
import { consumerPath, writeConsumer } from '@kim/observer-sdk/consumers'
import { cursorAtHead, cursorAtSeq } from '../consume/find-cursor.js'
import { withConsumer } from '../consume/with-consumer.js'
import { noStore } from '../missing.js'
import { createFacts } from '../read/facts.js'
import { RecordLog } from '../read/record-log.js'
import { refuseInside } from '../refuse-inside.js'

/** `kim-tail cursors set`: puts a cursor somewhere else, also backwards. */
export async function run(input: Input, io: Io): Promise<number> {
  const name = input.positional('name') ?? ''
  const seq = input.number('seq')
  if ((seq === undefined) === !input.bool('head')) {
    throw usageError(
      'cursors set needs either --seq or --head',
      'give --seq N (0 for the beginning), or --head',
    )
  }
  const path = consumerPath(io.env, name)
  const location = locateStore(input, io.env)
  refuseInside(location, path, 'a cursor')
  const past = RecordLog.open(location.eventsDir)
  if (past === undefined) throw noStore(location)
  const facts = createFacts(location.eventsDir)
  const cursor = seq === undefined ? cursorAtHead(past, facts) : cursorAtSeq(past, facts, seq)
  const dry = input.bool('dry-run')
  if (!dry) await withConsumer(path, io, () => writeConsumer(path, cursor))
  const said = { consumer: name, dry_run: dry, ok: true, seq: cursor.seq }
  io.stdout.write(
    input.bool('json')
      ? `${JSON.stringify(said)}\n`
      : `${name}: cursor ${dry ? 'would move' : 'moved'} to seq ${cursor.seq}\n`,
  )
  return 0
}
