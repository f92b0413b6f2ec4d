/** What the service says about itself, in `run/health.json` and over the control socket, and the files that say it. */
import { readdirSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseCheckpointName, parseSegmentName, type StorePaths, tempName } from '@kim/manifest'
import type { CoreStatus, Now, PersonaStatus } from '../core/core.js'
import { nodeFileSystem } from '../effects/system.js'
import { isNoSpace } from '../journal/disk-errors.js'
import { Disk } from '../journal/file-ops.js'
import type { SinkStatus } from '../sinks/sink.js'

/** What the service says about itself: in `run/health.json` and over the control socket. */
export interface ProducerStatus {
  readonly schema_version: 1
  readonly state: 'running' | 'stopped'
  /** Why it stopped. */
  readonly reason?: string
  readonly version: string
  readonly pid: number
  readonly start_key: string
  /** RFC 3339, UTC, like every time here. */
  readonly started: string
  readonly updated: string
  /** How often the file is replaced. */
  readonly interval_ms: number
  readonly store: string
  readonly source: string
  readonly dialect: string
  readonly project_id: string
  readonly head_seq: number
  readonly disk: 'ok' | 'full'
  readonly counts: CoreStatus['counts']
  readonly registry_genesis: boolean
  readonly polls: number
  readonly failures: number
  readonly requests: Readonly<Record<string, number>>
  readonly personas: readonly PersonaLine[]
  readonly sinks: readonly SinkStatus[]
}

/** One inbox in a status; a type and no interface, so that it counts as JSON. What is not known is left out of it. */
export type PersonaLine = Omit<PersonaStatus, 'last_poll' | 'last_healthy'> & {
  readonly last_poll?: string | undefined
  readonly last_healthy?: string | undefined
}

/** A time of the monotonic clock as people read it. */
function wallTime(at: number | undefined, { monoMs, wallMs }: Now): string | undefined {
  return at === undefined ? undefined : new Date(Math.round(wallMs - (monoMs - at))).toISOString()
}

/** One persona as a status shows it: with times for people. */
export function personaLine(persona: PersonaStatus, now: Now): PersonaLine {
  const { last_poll, last_healthy } = persona
  return { ...persona, last_poll: wallTime(last_poll, now), last_healthy: wallTime(last_healthy, now) }
}

/** How much room the live part of a journal takes. */
export interface JournalRoom {
  readonly segments: number
  readonly bytes: number
  /** When the newest checkpoint was written, since 1970; undefined without one. */
  readonly checkpointMs: number | undefined
}

/** Measures the journal. A sealed segment never changes, so only the newest ones are asked for their size. */
export class JournalSize {
  readonly #paths: StorePaths
  #sealed: ReadonlyMap<string, number> = new Map()

  constructor(paths: StorePaths) {
    this.#paths = paths
  }

  /** Undefined if it cannot be read. */
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

/**
 * A small file in `run/` that is replaced whole, for readers that look at its age. Losing it costs nothing, so
 * nothing that happens to it may end the service.
 */
export class StatusFile {
  readonly #path: string
  readonly #temp: string
  readonly #disk: Disk

  constructor(path: string, uid: number | undefined) {
    this.#path = path
    this.#temp = join(dirname(path), tempName(path.slice(dirname(path).length + 1)))
    this.#disk = new Disk(nodeFileSystem, uid, {}, () => undefined)
  }

  /** Replaces the file. Where there is no space the old one is made young: the process is alive all the same. */
  replace(text: string): void {
    try {
      this.#disk.writeLoosely(this.#temp, this.#path, Buffer.from(text))
    } catch (error) {
      if (isNoSpace(error)) this.#touch()
    }
  }

  #touch(): void {
    try {
      const now = new Date()
      utimesSync(this.#path, now, now)
    } catch {
      // There never was one.
    }
  }
}
