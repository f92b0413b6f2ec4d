import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { isJsonObject, KimError, parseWatermark, tempName, type Watermark } from '@kim/manifest'
import type { Disk } from '../journal/file-ops.js'
import { isFileName } from './file-sink.js'

/** What a sink stores for its next process. */
export interface SinkState {
  /** Every lane that is not held has delivered everything up to here. */
  readonly passed: Watermark
  /** Lanes that are behind, each with the reason, for people. */
  readonly held: readonly (readonly [lane: string, place: Watermark, why?: string | undefined])[]
  /** File names that were given out. */
  readonly names: readonly (readonly [persona: string, name: string])[]
}

/** The file of a sink's watermark on a journal. */
export function watermarkPath(directory: string, projectId: string, identity: string): string {
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  return join(directory, projectId, `${name}.json`)
}

/**
 * The durable watermark of one sink on one journal: a small file in client-private state, never in the store. An invalid
 * file is an error: to ignore it would skip mail.
 */
export class WatermarkFile {
  readonly path: string
  readonly #identity: string
  readonly #disk: Disk

  constructor(directory: string, projectId: string, identity: string, disk: Disk) {
    this.path = watermarkPath(directory, projectId, identity)
    this.#identity = identity
    this.#disk = disk
  }

  /** The stored state; undefined for a new sink. */
  load(): SinkState | undefined {
    const bytes = this.#disk.readWhole(this.path)
    if (bytes === undefined) return undefined
    const progress = parseWatermarkFile(bytes.toString('utf8'))?.progress
    if (progress !== undefined) return progress
    throw new KimError('cursor_invalid', `${this.path} does not hold a valid watermark`, {
      hint: 'nothing is delivered; restore the file; or remove it and start again to begin at the head',
    })
  }

  /** Replaces the stored state atomically and durably. */
  save({ passed, held, names }: SinkState): void {
    const value = {
      schema_version: 1,
      sink: this.#identity,
      passed: [passed.seq, passed.writer],
      held: held.map(([lane, { seq, writer }, why]) => [lane, seq, writer, why ?? null]),
      names,
    }
    const directory = dirname(this.path)
    this.#disk.makeDirectories(directory)
    const temp = join(directory, tempName(basename(this.path)))
    this.#disk.writeDurably(temp, this.path, [Buffer.from(`${JSON.stringify(value)}\n`)])
  }
}

/** The content of a watermark file; undefined if it is invalid. */
export function parseWatermarkFile(
  text: string,
): { readonly sink: string | undefined; readonly progress: SinkState } | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value) || value['schema_version'] !== 1) return undefined
  const { sink, passed, held, names } = value
  const at = Array.isArray(passed) ? parseWatermark(passed[0], passed[1]) : undefined
  if (at === undefined || !Array.isArray(held) || !Array.isArray(names)) return undefined
  const lanes: [string, Watermark, string | undefined][] = []
  for (const one of held) {
    const [lane, seq, writer, why] = Array.isArray(one) ? one : []
    const place = parseWatermark(seq, writer)
    if (place === undefined || typeof lane !== 'string') return undefined
    lanes.push([lane, place, typeof why === 'string' ? why : undefined])
  }
  const given: [string, string][] = []
  for (const one of names) {
    const [persona, name] = Array.isArray(one) ? one : []
    if (typeof persona !== 'string' || typeof name !== 'string' || !isFileName(name)) return undefined
    given.push([persona, name])
  }
  const progress = { passed: at, held: lanes, names: given }
  return { sink: typeof sink === 'string' ? sink : undefined, progress }
}
