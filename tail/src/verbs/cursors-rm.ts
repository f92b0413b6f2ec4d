import { didYouMean, type Input, type Io, usageError } from '@kim/cli-kit'
import { consumerPath, listConsumers, removeConsumer } from '@kim/observer-sdk/consumers'
import { withConsumer } from '../consume/with-consumer.js'

/** `kim-tail cursors rm`: forgets a consumer. */
export async function run(input: Input, io: Io): Promise<number> {
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
  io.stdout.write(
    input.bool('json') ? `${JSON.stringify({ consumer: name, dry_run: dry, ok: true })}\n` : `${said}\n`,
  )
  return 0
}
