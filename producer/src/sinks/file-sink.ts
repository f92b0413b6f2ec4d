import { type MonitorEvent, monitorLine } from '@kim/observer-sdk'
import { everyStep } from '../effects/every-step.js'
import { EventFile, type EventFileParts } from './event-file.js'
import { FileNames } from './file-names.js'
import type { Delivery, Sink } from './sink.js'

const PLACEHOLDER = '{persona}'
/** About as many as one write takes; the next ones are formatted when it is their turn. */
const BATCH_MAX = 250
/** Files that are held open: with a file per persona there may be more than a process has descriptors. */
const OPEN_MAX = 64

/** Event lines in one file, or in one per persona where the path holds `{persona}`. */
export class FileSink implements Sink {
  readonly name: string
  readonly batchMax: number = BATCH_MAX
  readonly areLanesSlow = false
  readonly skipped: Sink['skipped'] = {}
  readonly names: FileNames | undefined
  readonly #path: string
  readonly #parts: EventFileParts
  readonly #files: Map<string, EventFile> = new Map()

  readonly #refused: ReadonlySet<string>

  /** `names`: those given out in earlier lives; `refused`: lanes in whose way something stood at the end of the last. */
  constructor(
    path: string,
    parts: EventFileParts,
    names: readonly (readonly [string, string])[] = [],
    refused: ReadonlySet<string> = new Set(),
  ) {
    const isTemplate = path.includes(PLACEHOLDER)
    this.name = isTemplate ? 'events-file-template' : 'events-file'
    this.names = isTemplate ? new FileNames(path, names) : undefined
    this.#path = path
    this.#parts = parts
    this.#refused = refused
  }

  laneOf(persona: string): string {
    return this.names === undefined ? '' : persona
  }

  async deliver(lane: string, events: readonly MonitorEvent[]): Promise<Delivery> {
    const lines: string[] = []
    /** For each line, how many events it and those before it stand for: one too long to be taken has none. */
    const counts: number[] = []
    events.forEach((event, at) => {
      const line = monitorLine(event)
      if (line === undefined) return
      lines.push(line)
      counts.push(at + 1)
    })
    const areNoted = events.some(({ event }) => event !== 'heartbeat')
    const { taken, failure } = this.#file(lane).append(lines, areNoted)
    const count = taken === lines.length ? events.length : (counts[taken - 1] ?? 0)
    return { taken: count, failure }
  }

  close(): void {
    const files = [...this.#files.values()]
    this.#files.clear()
    everyStep(...files.map(file => () => file.close()))
  }

  #file(lane: string): EventFile {
    let file = this.#files.get(lane)
    if (file !== undefined) this.#files.delete(lane)
    else {
      const path =
        this.names === undefined ? this.#path : this.#path.replaceAll(PLACEHOLDER, this.names.of(lane))
      file = new EventFile(path, this.#parts, !this.#refused.has(lane))
    }
    this.#files.set(lane, file)
    // In the order of their use; one that is closed is opened again when it is its turn.
    const unused = this.#files.size - OPEN_MAX
    if (unused > 0) [...this.#files.values()][unused - 1]?.close()
    return file
  }
}
