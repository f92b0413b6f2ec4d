import { didYouMean, type Input, type Io, safeText } from '@kim/cli-kit'
import { type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { ask } from '../ask-producer.js'
import { report } from '../report.js'
import { storeOf } from '../store-flags.js'

/** So many names of watched inboxes are listed. */
const NAMES_MAX = 12

/** Makes a running producer poll now. */
export async function run(input: Input, io: Io): Promise<number> {
  const persona = input.text('persona')
  const paths = storePaths(storeOf(input, io))
  const { due } = await ask(paths, 'poke', io, persona === undefined ? undefined : { persona })
  if (persona !== undefined && due === 0) throw await notWatched(persona, paths, io)
  report(input, io, { due }, [`${due} ${due === 1 ? 'inbox is' : 'inboxes are'} polled now`])
  return 0
}

/** Nothing was made due, as the producer watches no inbox of that name. */
async function notWatched(persona: string, paths: StorePaths, io: Io): Promise<KimError> {
  const names = namesIn(await ask(paths, 'status', io))
  const shown = [...names.slice(0, NAMES_MAX), ...(names.length > NAMES_MAX ? ['…'] : [])].join(', ')
  return new KimError(
    'no_persona',
    safeText(`no inbox "${persona}" is watched${didYouMean(persona, names)}`),
    {
      hint: names.length === 0 ? 'no inbox is watched yet' : safeText(`watched: ${shown}`),
    },
  )
}

function namesIn({ personas }: JsonObject): readonly string[] {
  if (!Array.isArray(personas)) return []
  return personas
    .map((one: { readonly persona?: unknown } | null) => one?.persona)
    .filter(name => typeof name === 'string')
    .sort()
}
