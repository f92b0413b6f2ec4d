/** The segments of a journal as of one listing, read whole and in any order. */
import { Buffer } from 'node:buffer'
import { limits, type RestartListener, readSegment, type SegmentReader } from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import { countUpTo, type SegmentEntry, type StoreListing, segmentNumberOf } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { JournalDirectory } from './directory.js'
import { statedProjectId } from './project-id.js'

const WINDOW_MIN = 64 * 1024
/** A segment is short beside another one of so many times its length. */
const SHORT = 8
/** Holds any line that may be one, and its line feed. */
const WINDOW_MAX = limits.lineReadBytesMax + 1024 * 1024

/** Memory for passes, and what of a file the last pass with it began with. */
interface Window {
  memory: Buffer
  held: { readonly identity: string; readonly bytes: Buffer } | undefined
}

/** The segments of one listing, opened wherever they are by then. */
export class SegmentSet {
  readonly eventsDir: string
  readonly listing: StoreListing
  /** How many files were listed and could not be read, nor a copy of them. */
  unreadable = 0
  readonly #directory: JournalDirectory
  readonly #broken = new Set<number>()
  /** The highest number of a segment that could not be read, or not to its end. */
  #hidden = 0
  /** The memory of the last pass, and of the last one over a segment that is short beside it: the newest one often is. */
  readonly #long: Window = { memory: Buffer.alloc(0), held: undefined }
  readonly #short: Window = { memory: Buffer.alloc(0), held: undefined }
  #statedId: { readonly id: string | undefined } | undefined

  constructor(directory: JournalDirectory) {
    const { path, listing } = directory
    this.#directory = directory
    this.eventsDir = path
    this.listing = listing
    for (const failure of listing.failures)
      if (!this.#hasCopy(failure)) this.#hide(segmentNumberOf(failure.path) ?? 0)
  }

  /** Every segment that exists, ascending. */
  get segments(): readonly SegmentEntry[] {
    return this.listing.segments
  }

  /** Number of the segment that is appended to, if there is one. */
  get newest(): number | undefined {
    return this.segments.at(-1)?.number
  }

  /** Whether the end of the journal exists and cannot be read, as far as it was tried. */
  get isEndHidden(): boolean {
    return this.#hidden > 0 && this.#hidden >= (this.newest ?? 0)
  }

  /** The id that the journal states. */
  get statedId(): string | undefined {
    this.#statedId ??= { id: statedProjectId(this) }
    return this.#statedId.id
  }

  /** The first segment that can really be read: what cannot be read does not count. */
  first(): number | undefined {
    return this.segments.find(({ number }) => this.read(number, () => true))?.number
  }

  /** The highest-numbered segment whose number is not above `seq`. */
  holding(seq: number): number | undefined {
    return this.segments[countUpTo(this.segments, seq) - 1]?.number
  }

  /** Runs `use` over a segment's content; undefined if it cannot be read. */
  read<T>(number: number, use: (content: FileContent) => T): T | undefined {
    if (this.#broken.has(number)) return undefined
    const opened = openSegment(this.eventsDir, number)
    if (!opened.ok) {
      this.#directory.passOver(number, opened)
      this.#broken.add(number)
      if (opened.reason === 'unreadable') this.#hide(number)
      return undefined
    }
    const content = opened.value
    const { candidate, identity, passedOver } = content
    try {
      // Nothing of a compressed copy that cannot be read to its end is taken.
      const isBroken = candidate.gzip && content.bytes === 0 && content.failure !== undefined
      if (isBroken || passedOver !== undefined) this.#directory.passedOver.unreadable(number, content)
      if (isBroken) this.#broken.add(number)
      else if (candidate.gzip) this.#directory.copies.set(number, identity)
      else if (passedOver === undefined) this.#directory.known.set(number, identity)
      const result = isBroken ? undefined : use(content)
      if (content.failure !== undefined) this.#hide(number)
      return result
    } finally {
      content.close()
    }
  }

  /** The first bytes of a file, if they are still in memory. */
  inMemory(identity: string): Buffer | undefined {
    return [this.#long, this.#short].find(({ held }) => held?.identity === identity)?.held?.bytes
  }

  /** Reports the terminated lines of a content, most of them unparsed. */
  scan(content: FileContent, listener: RestartListener): void {
    readSegment(() => this.#windows(content, content.bytes), listener, { isLazy: true })
  }

  /** Gives a reader the content before `until`, as far as it wants it. */
  pass(content: FileContent, reader: SegmentReader, until: number = content.bytes): SegmentReader {
    for (const window of this.#windows(content, until)) if (!reader.push(window)) break
    return reader
  }

  /** The content from its start, in parts that share one buffer. */
  *#windows(content: FileContent, until: number): Generator<Buffer> {
    // Only one long memory: a second one would take the cache from the first.
    const window = until * SHORT <= this.#long.memory.length ? this.#short : this.#long
    for (let at = 0; at < until; ) {
      const wanted = Math.min(until - at, WINDOW_MAX)
      if (window.memory.length < wanted) window.memory = Buffer.allocUnsafeSlow(Math.max(wanted, WINDOW_MIN))
      window.held = undefined
      const bytes = window.memory.subarray(0, content.readInto(window.memory, 0, wanted, at))
      if (bytes.length === 0) return
      if (at === 0) window.held = { identity: content.identity, bytes }
      yield bytes
      at += bytes.length
    }
  }

  #hasCopy({ path }: ReadFailure): boolean {
    const number = segmentNumberOf(path)
    return number !== undefined && this.segments.some(segment => segment.number === number)
  }

  #hide(number: number): void {
    this.unreadable += 1
    this.#hidden = Math.max(this.#hidden, number)
  }
}
