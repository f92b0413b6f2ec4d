import { createHash } from 'node:crypto'
import { firstBytes, type MonitorEvent, monitorLine } from '@kim/monitor'
import { everyStep } from '../effects/every-step.js'
import { EventFile, type EventFileParts } from './event-file.js'
import type { Delivery, Sink } from './sink.js'

const PLACEHOLDER = '{persona}'
/** About as many events as one write takes. */
const BATCH_MAX = 250
/** The most open files: with a file per persona there may be more than the process has descriptors. */
const OPEN_MAX = 64

/** Writes event lines to one file, or to one file per persona if the path holds `{persona}`. */
export class FileSink implements Sink {
  readonly name: string
  readonly batchMax: number = BATCH_MAX
  readonly #path: string
  readonly #parts: EventFileParts
  readonly #refused: ReadonlySet<string>
  readonly #names: FileNames | undefined
  readonly #files: Map<string, EventFile> = new Map()

  /** `names` were given out before; `refused` are lanes that were held when the last process ended. */
  constructor(
    path: string,
    parts: EventFileParts,
    names: readonly (readonly [string, string])[] = [],
    refused: ReadonlySet<string> = new Set(),
  ) {
    const isTemplate = path.includes(PLACEHOLDER)
    this.name = isTemplate ? 'events-file-template' : 'events-file'
    this.#names = isTemplate ? new FileNames(path, names) : undefined
    this.#path = path
    this.#parts = parts
    this.#refused = refused
  }

  get givenNames(): Sink['givenNames'] {
    return this.#names?.given
  }

  laneOf(persona: string): string {
    return this.#names === undefined ? '' : persona
  }

  async deliver(lane: string, events: readonly MonitorEvent[]): Promise<Delivery> {
    const lines: string[] = []
    /** For each line, the number of events up to it: an event that is too long has no line. */
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
        this.#names === undefined ? this.#path : this.#path.replaceAll(PLACEHOLDER, this.#names.of(lane))
      file = new EventFile(path, this.#parts, !this.#refused.has(lane))
    }
    // The map is in the order of use. A closed file opens itself again.
    this.#files.set(lane, file)
    const unused = this.#files.size - OPEN_MAX
    if (unused > 0) [...this.#files.values()][unused - 1]?.close()
    return file
  }
}

/** A file name has 255 bytes: the template and the number of a rotated file need some of them. */
const NAME_BYTES_MAX = 120
const HASH_DIGITS = 8

/** After such an end of a template, the number of a rotated file could be part of another persona's name. */
const NUMBER_LIKE = /^\d*(\.\d+)*$/
/** A name that a rotated file may have. */
const NUMBERED = /\.\d*$/

/**
 * The part of a file's name that replaces `{persona}` (KS-68): that of the older monitor, whose followers know it. Names
 * fold case, because some file systems ignore it. A name that is taken, or could be that of another persona's rotated file, gets a hash. A persona keeps its
 * name, because a consumer follows that file.
 */
export class FileNames {
  readonly #byPersona: Map<string, string>
  readonly #taken: Set<string>
  readonly #mayBeRotated: (name: string) => boolean

  /** `given` are names of earlier processes. One that a rotated file may have is not kept: rotation would overwrite it. */
  constructor(template: string, given: readonly (readonly [persona: string, name: string])[] = []) {
    const end = template.slice(template.lastIndexOf(PLACEHOLDER) + PLACEHOLDER.length)
    this.#mayBeRotated = name => NUMBER_LIKE.test(end) && NUMBERED.test(name)
    this.#byPersona = new Map(given.filter(([, name]) => !this.#mayBeRotated(name)))
    this.#taken = new Set(this.#byPersona.values())
  }

  /** The names that were given out. */
  get given(): readonly (readonly [persona: string, name: string])[] {
    return [...this.#byPersona]
  }

  of(persona: string): string {
    const known = this.#byPersona.get(persona)
    if (known !== undefined) return known
    const name = this.#free(persona)
    this.#byPersona.set(persona, name)
    this.#taken.add(name)
    return name
  }

  #free(persona: string): string {
    const plain = olderFileName(persona)
    const isWhole = Buffer.byteLength(plain) <= NAME_BYTES_MAX && isFileName(plain)
    if (isWhole && !this.#taken.has(plain) && !this.#mayBeRotated(plain)) return plain
    const hash = createHash('sha256').update(persona).digest('hex')
    const stem = firstBytes(plain.replace(/^\.+$/, ''), NAME_BYTES_MAX - 1 - HASH_DIGITS)
    const short = `${stem}-${hash.slice(0, HASH_DIGITS)}`
    return this.#taken.has(short) ? hash : short
  }
}

/** Whether a name can have been given out: it is one part of a path, and does not lead upwards. */
export function isFileName(name: string): boolean {
  return /^[\p{L}\p{N}._-]+$/u.test(name) && !/^\.+$/.test(name)
}

/** The file name of the older monitor, which neither limited its length nor kept two personas apart. */
export function olderFileName(persona: string): string {
  return caseFolded(persona).replace(/[^\p{L}\p{N}._-]/gu, '_')
}

/** Unicode case folding, as Python has it: letter by letter, so that `ß` is `ss` and a final sigma a sigma. */
export function caseFolded(text: string): string {
  const fold = (letter: string): string => {
    if (letter === 'ı') return letter
    const upper = letter.toLowerCase().toUpperCase()
    return /\p{sc=Cherokee}/u.test(letter) ? upper : Array.from(upper, one => one.toLowerCase()).join('')
  }
  return Array.from(text, fold).join('')
}
