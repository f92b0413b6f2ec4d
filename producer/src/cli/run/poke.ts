import type { Input, Io } from '@kim/cli-kit'
import { storePaths } from '@kim/manifest'
import { ask } from '../ask-producer.js'
import { report } from '../report.js'
import { storeOf } from '../store-flags.js'

/** Makes a running producer poll now. */
export async function run(input: Input, io: Io): Promise<number> {
  const persona = input.text('persona')
  const { due } = await ask(
    storePaths(storeOf(input, io)),
    'poke',
    io,
    persona === undefined ? undefined : { persona },
  )
  report(input, io, { due }, [`${due} ${due === 1 ? 'inbox is' : 'inboxes are'} due now`])
  return 0
}
