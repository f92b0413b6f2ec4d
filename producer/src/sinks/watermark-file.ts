import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { isJsonObject, KimError, parseWatermark, tempName, type Watermark } from '@kim/manifest'
import type { Disk } from '../journal/file-ops.js'
import { isFileName } from './file-names.js'
import { makePrivate } from './private-directory.js'

/** What a sink remembers between two lives of its process. */
export interface SinkState {
  /** Every lane has dealt with everything up to here, but for those that are held. */
  readonly passed: Watermark
  /** Lanes that came less far, and what stands in their way, for people. */
  readonly held: readonly (readonly [lane: string, place: Watermark, why?: string | undefined])[]
  /** Names of files that were given out. */
  readonly names: readonly (readonly [persona: string, name: string])[]
}

/** Where the watermark of a sink on a journal is kept. */
export function watermarkPath(directory: string, projectId: string, identity: string): string {
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  return join(directory, projectId, `${name}.json`)
}

/**
 * The durable watermark of one sink on one journal: a small file in client-private state, never in the store.
 * What stands there and is none is refused: taking it for none would pass over mail.
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

  /** What is remembered; undefined for a sink that never began. */
  load(): SinkState | undefined {
    const bytes = this.#disk.readWhole(this.path)
    if (bytes === undefined) return undefined
    const progress = parseWatermarkFile(bytes.toString('utf8'))?.progress
    if (progress !== undefined) return progress
    throw new KimError('cursor_invalid', `${this.path} does not hold a valid watermark`, {
      hint: 'nothing is delivered; restore the file; or remove it and start again to begin at the head',
    })
  }

  /** Makes it durable: afterwards the old one or this one stands there, whole. */
  save({ passed, held, names }: SinkState): void {
    const value = {
      schema_version: 1,
      sink: this.#identity,
      passed: [passed.seq, passed.writer],
      held: held.map(([lane, { seq, writer }, why]) => [lane, seq, writer, why ?? null]),
      names,
    }
    const directory = dirname(this.path)
    makePrivate(this.#disk, directory)
    const temp = join(directory, tempName(basename(this.path)))
    this.#disk.writeDurably(temp, this.path, [Buffer.from(`${JSON.stringify(value)}\n`)])
  }
}

/** What a watermark file says; undefined for anything else. */
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
    const place = Array.isArray(one) ? parseWatermark(one[1], one[2]) : undefined
    const lane = Array.isArray(one) ? one[0] : undefined
    if (place === undefined || typeof lane !== 'string') return undefined
    const why = Array.isArray(one) ? one[3] : undefined
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
