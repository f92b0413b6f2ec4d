import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { basename } from 'node:path'
import {
  limits,
  parseArchivedSegmentName,
  parseSegmentName,
  type ReadRecord,
  type RestartListener,
  type SegmentListener,
  SegmentReader,
} from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import type { SegmentEntry, StoreListing } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { JournalDirectory } from './directory.js'

/** The segments of one listing, opened wherever they stand by then. */
export class SegmentSet {
  readonly eventsDir: string
  readonly listing: StoreListing
  /** How many files were there and could not be read, nor a copy of them. */
  unreadable = 0
  readonly #directory: JournalDirectory
  readonly #broken = new Set<number>()
  /** The highest number of a segment that could not be read, or not to its end. */
  #hidden = 0

  constructor(directory: JournalDirectory) {
    const { path, listing } = directory
    this.eventsDir = path
    this.listing = listing
    const failures = listing.failures.filter(failure => !this.#hasCopy(failure))
    this.unreadable = failures.length
    for (const { path } of failures) this.#hide(numberOf(path) ?? 0)
    this.#directory = directory
  }

  /** Every segment that exists, ascending. */
  get segments(): readonly SegmentEntry[] {
    return this.listing.segments
  }

  /** Number of the segment that is appended to, if there is one. */
  get newest(): number | undefined {
    return this.segments.at(-1)?.number
  }

  /** Whether the end of the journal is there and cannot be read, as far as it was tried. */
  get isEndHidden(): boolean {
    return this.#hidden > 0 && this.#hidden >= (this.newest ?? 0)
  }

  /** The first segment that can really be read: what cannot be read is not there. */
  first(): number | undefined {
    return this.segments.find(({ number }) => this.#isReadable(number))?.number
  }

  /** The highest-numbered segment whose number is not above `seq`. */
  holding(seq: number): number | undefined {
    let low = 0
    let high = this.segments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.segments[middle] as SegmentEntry).number <= seq) low = middle + 1
      else high = middle
    }
    return this.segments[low - 1]?.number
  }

  /** Runs `use` over a segment's content; undefined if it cannot be read. */
  read<T>(number: number, use: (content: FileContent) => T): T | undefined {
    if (this.#broken.has(number)) return undefined
    const opened = openSegment(this.eventsDir, number)
    if (!opened.ok) {
      this.#directory.passOver(number, opened)
      this.#fail(number, opened.reason === 'unreadable')
      return undefined
    }
    const content = opened.value
    try {
      // Nothing of a compressed copy that cannot be read to its end is taken.
      if (content.candidate.gzip && content.bytes === 0 && content.failure !== undefined) {
        this.#directory.passedOver.unreadable(number, content)
        this.#fail(number, true)
        return undefined
      }
      if (content.passedOver !== undefined) this.#directory.passedOver.unreadable(number, content)
      if (content.candidate.gzip) this.#directory.copies.set(number, content.identity)
      else if (content.passedOver === undefined) this.#directory.known.set(number, content.identity)
      const result = use(content)
      if (content.failure !== undefined) {
        this.unreadable += 1
        this.#hide(number)
      }
      return result
    } finally {
      content.close()
    }
  }

  #hasCopy({ path }: ReadFailure): boolean {
    const number = numberOf(path)
    return number !== undefined && this.segments.some(segment => segment.number === number)
  }

  #isReadable(number: number): boolean {
    return this.read(number, () => true) === true
  }

  #fail(number: number, counts: boolean): void {
    if (counts) {
      this.unreadable += 1
      this.#hide(number)
    }
    this.#broken.add(number)
  }

  #hide(number: number): void {
    this.#hidden = Math.max(this.#hidden, number)
  }
}

/** The number of the segment that a file is called by. */
function numberOf(path: string): number | undefined {
  const name = basename(path)
  return parseSegmentName(name) ?? parseArchivedSegmentName(name)?.first
}

/** The id that the journal states: in the first valid record of a live segment, if that is a note that has one. */
export function statedProjectId(history: SegmentSet): string | undefined {
  for (const { number, place } of history.segments) {
    if (place !== 'live') continue
    const record = history.read(number, firstRecord)
    const stated = record?.action === 'journal_note' ? record.payload : undefined
    const kind = stated?.['kind']
    const id = stated?.['project_id']
    if ((kind === 'genesis' || kind === 'segment_sealed') && typeof id === 'string') return id
  }
  return undefined
}

/** What stands in for the id of a journal that states none. */
export function directoryProjectId(eventsDir: string): string {
  let path = eventsDir
  try {
    path = realpathSync(eventsDir)
  } catch {
    // Absent or unreadable: the path as given will do until there is something to read.
  }
  return createHash('sha256').update(path).digest('hex')
}

/** Read first: the first record of a segment is a note, and short. */
const FIRST_BYTES = 4 * 1024

function firstRecord(content: FileContent): ReadRecord | undefined {
  let first: ReadRecord | undefined
  const reader = new SegmentReader({
    released: ({ record }) => {
      first ??= record
      reader.stop()
    },
  })
  for (let at = 0, length = FIRST_BYTES; ; length *= 8) {
    const chunk = content.read(at, length)
    if (chunk.length === 0 || !reader.push(chunk)) return first
    at += chunk.length
  }
}

/** One pass over one segment, from its start, in windows of one reused buffer. */

const WINDOW_MIN = 64 * 1024
/** Holds any line that may be one, and its line feed. */
const WINDOW_MAX = limits.lineReadBytesMax + 1024 * 1024

/** Scans segments one after another with one buffer. */
export class SegmentScanner {
  #buffer = Buffer.alloc(0)
  #inBuffer: Buffer = this.#buffer

  /** The bytes that the last scan began with, until the next one. */
  get inMemory(): Buffer {
    return this.#inBuffer
  }

  /** Reports the content's terminated lines before `until`, most of them unparsed. */
  scan(content: FileContent, listener: RestartListener, until: number = content.bytes): SegmentReader {
    const reader = this.scanLazily(content, listener, until)
    if (!reader.isUnordered) return reader
    listener.restart?.()
    return this.scanWhole(content, listener, until)
  }

  /** As `scan`, but where seqs do not ascend it stops: ask the reader whether it is unordered. */
  scanLazily(content: FileContent, listener: SegmentListener, until: number = content.bytes): SegmentReader {
    return this.#pass(content, new SegmentReader(listener, { isLazy: true }), until)
  }

  /** As `scan`, with every line parsed. */
  scanWhole(content: FileContent, listener: SegmentListener, until: number = content.bytes): SegmentReader {
    return this.#pass(content, new SegmentReader(listener), until)
  }

  #pass(content: FileContent, reader: SegmentReader, until: number): SegmentReader {
    for (let at = 0; at < until; ) {
      const window = this.#reserve(until - at)
      const read = content.readInto(window, 0, Math.min(window.length, until - at), at)
      if (read === 0) break
      this.#inBuffer = at === 0 ? window.subarray(0, read) : Buffer.alloc(0)
      if (!reader.push(window.subarray(0, read))) break
      at += read
    }
    return reader
  }

  #reserve(left: number): Buffer {
    const wanted = Math.min(Math.max(left, WINDOW_MIN), WINDOW_MAX)
    if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted)
    return this.#buffer
  }
}
