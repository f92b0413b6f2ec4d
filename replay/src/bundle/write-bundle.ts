/** Cuts a range out of a journal and packs it with a manifest: the same bytes for the same input. */
import { createHash, type Hash } from 'node:crypto'
import { createGzip, type Gzip } from 'node:zlib'
import {
  blobPath,
  jcs,
  KimError,
  type PayloadRef,
  type PlainLine,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
  segmentName,
} from '@kim/manifest'
import { type ReadFailure, readBlob, type SegmentEntry } from '@kim/observer-sdk/history'
import type { JournalCopy, JournalPoint, PassControl, SegmentWalker } from '@kim/observer-sdk/verify'
import type { OutFile } from '../output/out-file.js'
import { Payloads } from '../payloads.js'
import { type LineContent, type RedactMode, Redactor } from '../redactor.js'
import { type BundledFile, type BundleManifest, bundleEvents, bundleFile, bundleVersion } from './manifest.js'
import { tarEnd, tarHeader, tarPadding } from './tar.js'

/** What goes into a bundle. */
export interface BundlePlan {
  readonly manifest: BundleManifest
  readonly slice: BundleSlice
  readonly range: SliceRange
  readonly mode: RedactMode
  /** Blobs that are referred to and cannot be had. */
  readonly blobsMissing: readonly string[]
}

/** Reads the slice once and says what a bundle of it holds. */
export async function planBundle(
  history: JournalCopy,
  range: SliceRange,
  mode: RedactMode,
  createdMs: number | undefined,
  control: PassControl,
): Promise<BundlePlan> {
  const digests = new Digests()
  const payloads = new Payloads(history.eventsDir)
  const unread = new Set<string>()
  const redactor = new Redactor(mode, ref => {
    const payload = payloads.of({ payload: undefined, payload_ref: ref })
    if (payload === undefined) unread.add(ref.sha256)
    return payload
  })
  const slice = new BundleSlice(range, redactor, digests)
  await history.walk(slice, control)
  const { first, last } = slice
  if (first === undefined || last === undefined)
    throw new KimError('no_record', 'there is no record in this range', {
      hint: 'see which seqs there are: kim-replay stats (with the same --events or --store)',
    })
  const files = digests.close()
  const blobsMissing = [...unread].sort()
  for (const ref of [...slice.blobs.values()].sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1))) {
    const read = readBlob(history.eventsDir, ref)
    if (read.ok) files.push({ path: blobName(ref.sha256), bytes: ref.bytes, sha256: ref.sha256 })
    else blobsMissing.push(ref.sha256)
  }
  const manifest: BundleManifest = {
    bundle: bundleVersion,
    created: createdMs === undefined ? (redactor.time(last.ts) ?? null) : new Date(createdMs).toISOString(),
    files,
    project_id: redactor.project(history.projectId),
    range: {
      from_seq: first.seq,
      to_seq: last.seq,
      from_ts: redactor.time(first.ts) ?? null,
      to_ts: redactor.time(last.ts) ?? null,
    },
    records: slice.records,
    redact: mode,
  }
  return { manifest, slice, range, mode, blobsMissing }
}

/** Reads the slice again and writes the bundle. */
export async function writeBundle(
  history: JournalCopy,
  { manifest, slice, range, mode }: BundlePlan,
  file: OutFile,
  control: PassControl,
): Promise<void> {
  const created = Date.parse(manifest.created ?? '')
  const archive = new Archive(file, Number.isNaN(created) ? 0 : created / 1000, manifest.files)
  archive.file(bundleFile, Buffer.from(`${jcs(manifest)}\n`))
  const payloads = new Payloads(history.eventsDir)
  const redactor = new Redactor(mode, ref => payloads.of({ payload: undefined, payload_ref: ref }))
  const again = new BundleSlice(range, redactor, archive, slice.end)
  await history.walk(again, control)
  for (const { path, bytes, sha256 } of manifest.files) {
    if (path !== blobName(sha256)) continue
    const read = readBlob(history.eventsDir, { sha256, bytes })
    if (!read.ok) throw changed(path)
    archive.file(path, read.value)
    await archive.pause()
  }
  await archive.end()
}

function blobName(sha256: string): string {
  return `${bundleEvents}/blobs/${blobPath(sha256).replaceAll('\\', '/')}`
}

function changed(path: string): KimError {
  return new KimError('store_failed', `cannot bundle ${path}: it changed while it was read`, {
    hint: 'no bundle was written; try again, or bundle a copy',
  })
}

/** Length and hash of each file of the slice. */
class Digests implements SliceTarget {
  readonly #files: BundledFile[] = []
  #open: { readonly path: string; readonly hash: Hash; bytes: number } | undefined

  begin(name: string): void {
    this.#finish()
    this.#open = { path: `${bundleEvents}/${name}`, hash: createHash('sha256'), bytes: 0 }
  }

  line(line: Uint8Array | string): void {
    const open = this.#open
    if (open === undefined) return
    open.hash.update(line).update('\n')
    open.bytes += Buffer.byteLength(line) + 1
  }

  close(): BundledFile[] {
    this.#finish()
    return this.#files
  }

  #finish(): void {
    if (this.#open === undefined) return
    const { path, hash, bytes } = this.#open
    this.#files.push({ path, bytes, sha256: hash.digest('hex') })
  }
}

/** Where in a gzip header the system stands that packed it. */
const OS_AT = 9
const OS_UNKNOWN = 255

/** Bytes that are packed at once: each write is a trip to another thread. */
const GATHER_BYTES = 256 * 1024

/** A gzipped tar on its way into a file; the files of the slice are those of its manifest. */
class Archive implements SliceTarget {
  readonly #gzip: Gzip = createGzip()
  readonly #mtime: number
  readonly #sizes: ReadonlyMap<string, number>
  /** The length of the file that is open. */
  #size: number | undefined
  #left = 0
  #path = ''
  #parts: Buffer[] = []
  #gathered = 0
  #isFull = false
  #isFirst = true
  #failure: unknown

  constructor(file: OutFile, mtime: number, files: readonly BundledFile[]) {
    this.#mtime = mtime
    this.#sizes = new Map(files.map(({ path, bytes }) => [path, bytes]))
    this.#gzip.on('data', (chunk: Buffer) => {
      // The same bytes on every system.
      if (this.#isFirst && chunk.length > OS_AT) chunk[OS_AT] = OS_UNKNOWN
      this.#isFirst = false
      try {
        file.write(chunk)
      } catch (error) {
        this.#failure ??= error
      }
    })
  }

  begin(name: string): void {
    this.#close()
    const path = `${bundleEvents}/${name}`
    const size = this.#sizes.get(path)
    if (size === undefined) throw changed(path)
    this.#open(path, size)
  }

  line(line: Uint8Array | string): void {
    this.#add(line)
    this.#add('\n')
  }

  /** A whole file. */
  file(path: string, content: Buffer): void {
    this.#open(path, content.length)
    this.#add(content)
  }

  #open(path: string, size: number): void {
    this.#close()
    const header = tarHeader({ path, size }, this.#mtime)
    if (header === undefined)
      throw new KimError('record_too_large', `cannot bundle ${path}: it is too large for an archive`, {
        hint: 'no bundle was written; bundle a smaller range with --from-seq and --to-seq',
      })
    this.#path = path
    this.#size = size
    this.#left = size
    this.#put(header)
  }

  #add(data: Uint8Array | string): void {
    this.#left -= Buffer.byteLength(data)
    if (this.#left < 0) throw changed(this.#path)
    this.#put(data)
  }

  #close(): void {
    if (this.#size === undefined) return
    if (this.#left !== 0) throw changed(this.#path)
    this.#put(tarPadding(this.#size))
    this.#size = undefined
  }

  /** Waits until what was put in has been taken, if there is much of it. */
  pause(): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#isFull) return undefined
    this.#isFull = false
    return new Promise(resolve => this.#gzip.once('drain', resolve))
  }

  async end(): Promise<void> {
    this.#close()
    this.#put(tarEnd)
    this.#pass()
    await new Promise<void>((resolve, reject) => {
      this.#gzip.once('end', resolve)
      this.#gzip.once('error', reject)
      this.#gzip.end()
    })
    if (this.#failure !== undefined) throw this.#failure
  }

  #put(data: Uint8Array | string): void {
    // A copy: what the line is a view of is used again.
    this.#parts.push(Buffer.from(data))
    this.#gathered += Buffer.byteLength(data)
    if (this.#gathered >= GATHER_BYTES) this.#pass()
  }

  #pass(): void {
    if (!this.#gzip.write(Buffer.concat(this.#parts))) this.#isFull = true
    this.#parts = []
    this.#gathered = 0
  }
}

/** Where the lines of a slice go. */
interface SliceTarget {
  /** The lines that follow are of this segment. */
  begin(name: string): void
  line(bytes: Uint8Array | string): void
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
}

/** What is cut out. */
export interface SliceRange {
  readonly fromSeq: number
  readonly toSeq: number
}

const HOLES_MAX = 1000

/** Cuts a range out of the lines of a journal; a transaction is taken whole. */
class BundleSlice implements SegmentWalker {
  readonly blobs: Map<string, PayloadRef> = new Map()
  readonly failures: string[] = []
  /** Numbers inside the range that no record of the journal has. */
  readonly holes: { readonly from: number; readonly to: number }[] = []
  records = 0
  first: ReadRecord | undefined
  last: ReadRecord | undefined
  /** Where the last line begins. */
  end: JournalPoint | undefined
  readonly #range: SliceRange
  readonly #target: SliceTarget
  readonly #redactor: Redactor
  readonly #until: JournalPoint | undefined
  #before = 0
  /** Lines of a run of which no record is in the range so far. */
  #held: { readonly bytes: Uint8Array; readonly record: ReadRecord; readonly offset: number }[] = []
  #isWithin = false
  #hasFile = false

  /** `until` ends it after the line that begins there, whatever stands behind it by now. */
  constructor(range: SliceRange, redactor: Redactor, target: SliceTarget, until?: JournalPoint) {
    this.#range = range
    this.#target = target
    this.#redactor = redactor
    this.#until = until
  }

  beginSegment(segment: SegmentEntry): SegmentReader {
    this.#held = []
    this.#hasFile = false
    const reader: SegmentReader = new SegmentReader({
      valid: line => !this.#isBeyond(segment, line) && this.#record(line, segment),
      blank: line => this.#other(line, { kind: 'blank' }, segment, reader),
      malformed: line => this.#other(line, { kind: 'malformed' }, segment, reader),
      future: (seq, line) => this.#other(line, { kind: 'future', seq }, segment, reader),
    })
    return reader
  }

  #isBeyond({ number }: SegmentEntry, { offset }: { readonly offset: number }): boolean {
    const until = this.#until
    if (until === undefined) return false
    return number > until.segment || (number === until.segment && offset > until.offset)
  }

  /** A line that is no record. */
  #other(line: PlainLine, content: LineContent, segment: SegmentEntry, reader: SegmentReader): void {
    if (this.#isBeyond(segment, line)) {
      reader.stop()
      return
    }
    if (!this.#isWithin) return
    const { offset, length, bytes } = line
    this.end = { segment: segment.number, offset }
    // A line that is too long to be held is reported, not copied.
    const shown =
      bytes === undefined
        ? JSON.stringify({ bytes: length, redacted_line: true })
        : this.#redactor.line(bytes, content)
    this.#put(segment, offset, shown, undefined)
  }

  pause(): Promise<void> | undefined {
    return this.#target.pause?.()
  }

  endSegment(_segment: SegmentEntry, failure: ReadFailure | undefined): void {
    if (failure !== undefined) this.failures.push(`${failure.path}: ${failure.code}`)
  }

  unreadable(_segment: SegmentEntry, { path, code }: ReadFailure): void {
    this.failures.push(`${path}: ${code}`)
  }

  #record({ record, offset, bytes }: SegmentLine, segment: SegmentEntry): boolean {
    const { fromSeq, toSeq } = this.#range
    const isInside = typeof record.tx === 'object' && record.tx.i > 1
    if (!isInside) this.#held = []
    if (!this.#isWithin && record.seq < fromSeq) {
      if (typeof record.tx === 'object') this.#held.push({ bytes: Uint8Array.from(bytes), record, offset })
      return true
    }
    if (record.seq > toSeq && !(this.#isWithin && isInside)) return false
    this.#isWithin = true
    for (const each of this.#held.splice(0)) {
      const line = this.#redactor.line(each.bytes, { kind: 'record', record: each.record })
      this.#put(segment, each.offset, line, each.record)
    }
    this.end = { segment: segment.number, offset }
    this.#put(segment, offset, this.#redactor.line(bytes, { kind: 'record', record }), record)
    return true
  }

  #put(
    segment: SegmentEntry,
    offset: number,
    line: Uint8Array | string,
    record: ReadRecord | undefined,
  ): void {
    if (!this.#hasFile) {
      this.#hasFile = true
      // What does not begin where its segment does has a name of its own, which is the lower bound of its seqs.
      this.#target.begin(segmentName(offset === 0 || record === undefined ? segment.number : record.seq))
    }
    this.#target.line(line)
    if (record === undefined) return
    this.records += 1
    if (this.#before > 0 && record.seq > this.#before + 1 && this.holes.length < HOLES_MAX)
      this.holes.push({ from: this.#before + 1, to: record.seq - 1 })
    this.#before = Math.max(this.#before, record.seq)
    this.first ??= record
    this.last = record
    if (record.payload_ref !== undefined && this.#redactor.mode === 'none')
      this.blobs.set(record.payload_ref.sha256, record.payload_ref)
  }
}
