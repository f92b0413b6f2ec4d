import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseCheckpointName, parseSegmentName, type StorePaths } from '@kim/manifest'

/** How much room the live part of a journal takes. */
export interface JournalRoom {
  readonly segments: number
  readonly bytes: number
  /** When the newest checkpoint was written, since 1970; undefined without one. */
  readonly checkpointMs: number | undefined
}

/** Looks how large the journal is. A sealed segment never changes, so only the newest ones are asked for their size. */
export class JournalSize {
  readonly #paths: StorePaths
  #sealed: ReadonlyMap<string, number> = new Map()

  constructor(paths: StorePaths) {
    this.#paths = paths
  }

  /** Undefined where it cannot be looked at. */
  look(): JournalRoom | undefined {
    const { events, checkpoints } = this.#paths
    try {
      const segments = readdirSync(events)
        .filter(name => parseSegmentName(name) !== undefined)
        .sort()
      const sizes = new Map(
        segments.map(name => [name, this.#sealed.get(name) ?? statSync(join(events, name)).size]),
      )
      const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
      const newest = segments.at(-1)
      if (newest !== undefined) sizes.delete(newest)
      this.#sealed = sizes
      return { segments: segments.length, bytes, checkpointMs: newestMs(checkpoints) }
    } catch {
      return undefined
    }
  }
}

/** A store that is new has none. */
function newestMs(checkpoints: string): number | undefined {
  try {
    const newest = readdirSync(checkpoints)
      .filter(name => parseCheckpointName(name) !== undefined)
      .sort()
      .at(-1)
    return newest === undefined ? undefined : statSync(join(checkpoints, newest)).mtimeMs
  } catch {
    return undefined
  }
}
