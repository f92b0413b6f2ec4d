import type { Core, CoreOptions } from '../../core/core.js'
import type { Journal } from '../../journal/journal.js'
import { canonicalSource } from '../../journal/source.js'
import type { Source } from '../../source/source.js'
import type { ServerOptions } from './options.js'

/** The server that the flags name. */
export async function openServer({ url, dialect }: ServerOptions): Promise<Source> {
  const failure = {
    token: 'unreachable',
    status: undefined,
    reason: 'unreachable: nothing is asked',
  } as const
  const answer = { ok: false, failure, sentMs: 0, receivedMs: 0 } as const
  return {
    base: canonicalSource(url),
    dialect: dialect ?? 'local',
    page: async () => answer,
    directory: async () => answer,
    counts: async () => answer,
    reloadToken: () => false,
    close: () => undefined,
  }
}

/** What decides for a journal. */
export function openCore(_options: CoreOptions, _journal: Journal): Core {
  return {
    next: () => ({ asks: [], wakeAtMs: undefined }),
    answered: () => undefined,
    commit: () => undefined,
    committed: () => undefined,
    poke: () => 0,
    notes: () => [],
    verdict: undefined,
    status: () => ({
      personas: [],
      counts: 'off',
      polls: 0,
      failures: 0,
      asked: { page: 0, counts: 0, directory: 0 },
      genesis: false,
    }),
  }
}
