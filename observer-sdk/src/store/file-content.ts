/** The content of the files of a store, wherever they are and whether they are compressed or not. */
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { archivedSegmentName, blobPath, checkpointName, eventsPaths, segmentName } from '@kim/manifest'
import {
  closeFile,
  found,
  type OpenFile,
  openRegularFile,
  type ReadFailure,
  type ReadResult,
  readAt,
  readFailureOf,
  readOnce,
  unreadable,
} from './read-only-fs.js'

/** Bytes read at a time: large enough to amortise the call, small enough to stay in cache. */
export const chunkBytes: number = 256 * 1024

/** A compressed file up to this size holds 4 MiB at most, and is inflated at once: a stream takes ten times as long. */
const SMALL_GZIP_BYTES = 4096

/** Most bytes that a compressed file may hold for a caller that needs it whole. */
const inflatedBytesMax = 1024 * 1024 * 1024

/** One place that a file of the store may be in. */
interface Candidate {
  readonly path: string
  readonly place: 'live' | 'archive'
  readonly gzip: boolean
}

/**
 * The content of one file, compressed or not, as of the moment it was opened. Reading stops early on damage; `failure`
 * then says why, and what was read before it is valid.
 */
export class FileContent {
  readonly candidate: Candidate
  /** Same value, same file. */
  readonly identity: string
  /** Bytes on disk when it was opened (compressed bytes, if it is compressed). */
  readonly storedBytes: number
  /** What is in an earlier place and could not be read: this is the copy behind it. */
  readonly passedOver: ReadFailure | undefined
  readonly #file: OpenFile
  #inflated: Buffer | undefined
  #failure: ReadFailure | undefined
  #readBytes = 0

  constructor(candidate: Candidate, file: OpenFile, passedOver?: ReadFailure) {
    this.candidate = candidate
    this.passedOver = passedOver
    this.identity = file.identity
    this.storedBytes = file.size
    this.#file = file
  }

  /** Why reading stopped before the end, if it did. */
  get failure(): ReadFailure | undefined {
    return this.#failure
  }

  /** Length of the content in bytes when it was opened. Inflates a compressed file. */
  get bytes(): number {
    return this.candidate.gzip ? (this.#whole()?.length ?? 0) : this.storedBytes
  }

  /** The content in fresh chunks, front to back. A compressed file is inflated whole first: prefer `stream`. */
  *chunks({ from = 0 }: { readonly from?: number } = {}): Generator<Buffer> {
    yield* chunksOf((position, length) => this.read(position, length), from, this.bytes)
  }

  /** The content in fresh chunks, front to back, in bounded memory whatever it is. */
  async *stream(): AsyncGenerator<Buffer> {
    const isSmall = this.storedBytes <= SMALL_GZIP_BYTES
    if (!this.candidate.gzip || (isSmall && this.#whole() !== undefined)) {
      yield* this.chunks()
      return
    }
    try {
      yield* gunzipStream(
        chunksOf((position, length) => this.#readStored(position, length), 0, this.storedBytes),
        chunkBytes,
      )
    } catch (error) {
      this.#failure ??= inflateFailure(this.candidate.path, error)
    }
  }

  /** Up to `length` bytes from `position`; fewer only at the end, or when reading failed. */
  read(position: number, length: number): Buffer {
    if (this.candidate.gzip) return this.#whole()?.subarray(position, position + length) ?? Buffer.alloc(0)
    return this.#readStored(position, length)
  }

  /** As `read`, into memory of the caller's; returns how many bytes there were. */
  readInto(target: Uint8Array, offset: number, length: number, position: number): number {
    if (this.candidate.gzip) {
      const part = this.read(position, length)
      target.set(part, offset)
      return part.length
    }
    try {
      return readAt(this.#file, target, offset, length, position)
    } catch (error) {
      this.#failure ??= readFailureOf(this.candidate.path, error)
      return 0
    }
  }

  /** The same open file, taken to be so long. */
  atLength(bytes: number): FileContent {
    return new FileContent(this.candidate, { ...this.#file, size: bytes }, this.passedOver)
  }

  /** Whether both read through one descriptor. */
  isSameOpenFile(other: FileContent): boolean {
    return other.#file.fd === this.#file.fd
  }

  /** What one call to the system gives from `position`, whatever length the file was taken to be; 0 if it fails. */
  readOnce(target: Uint8Array, position: number): number {
    try {
      return readOnce(this.#file, target, position)
    } catch (error) {
      this.#failure ??= readFailureOf(this.candidate.path, error)
      return 0
    }
  }

  /** Bytes on disk read so far. */
  get readBytes(): number {
    return this.#readBytes
  }

  /** Releases the file. The object is of no use afterwards. */
  close(): void {
    this.#inflated = undefined
    closeFile(this.#file)
  }

  #readStored(position: number, length: number): Buffer {
    // A few lines at a time come from the pool: memory of their own would cost more than reading them.
    const target = Buffer.allocUnsafe(length)
    try {
      const read = readAt(this.#file, target, 0, length, position)
      this.#readBytes += read
      return target.subarray(0, read)
    } catch (error) {
      this.#failure ??= readFailureOf(this.candidate.path, error)
      return target.subarray(0, 0)
    }
  }

  #whole(): Buffer | undefined {
    if (this.#inflated !== undefined || this.#failure !== undefined) return this.#inflated
    const stored = this.#readStored(0, this.storedBytes)
    if (this.#failure !== undefined) return undefined
    try {
      this.#inflated = gunzipSync(stored, { maxOutputLength: inflatedBytesMax })
    } catch (error) {
      this.#failure = inflateFailure(this.candidate.path, error)
    }
    return this.#inflated
  }
}

/** Opens a segment wherever it can be read: live, else archived plain, else archived compressed. */
export function openSegment(eventsDir: string, number: number): ReadResult<FileContent> {
  const { archive } = eventsPaths(eventsDir)
  const live = candidate(join(eventsDir, segmentName(number)), 'live')
  const archived = [false, true].map(gzipped =>
    candidate(join(archive, archivedSegmentName({ first: number, gzipped })), 'archive', gzipped),
  )
  return openFirst([live, ...archived], true)
}

/** Opens a checkpoint wherever it is: live, else archived; or only the archived one. */
export function openCheckpoint(
  eventsDir: string,
  headSeq: number,
  place?: 'archive',
): ReadResult<FileContent> {
  const { archive, checkpoints } = eventsPaths(eventsDir)
  const name = checkpointName(headSeq)
  const archived = candidate(join(archive, name), 'archive')
  return openFirst(place === 'archive' ? [archived] : [candidate(join(checkpoints, name), 'live'), archived])
}

/** Opens the blob with this hash. */
export function openBlob(eventsDir: string, sha256: string): ReadResult<FileContent> {
  return openFirst([candidate(join(eventsPaths(eventsDir).blobs, blobPath(sha256)), 'live')])
}

/** Inflates chunk by chunk in bounded memory. Throws on damage, after all bytes before it were yielded. */
async function* gunzipStream(source: Iterable<Uint8Array>, chunkSize: number): AsyncGenerator<Buffer> {
  const inflate = createGunzip({ chunkSize })
  // The pipeline only ties the two lifetimes together; the error reaches us through the iteration.
  pipeline(Readable.from(source, { objectMode: false }), inflate, () => {})
  for await (const chunk of inflate) yield chunk
}

/**
 * Opens the first candidate that exists. The order matters: a file that gc moves while we look is missing from
 * the earlier place only when it is in the later one already. What cannot be read hides the copies behind it, unless
 * `passesOver`: then the content names it.
 */
function openFirst(candidates: readonly Candidate[], passesOver = false): ReadResult<FileContent> {
  let absent: ReadFailure | undefined
  let passedOver: ReadFailure | undefined
  for (const candidate of candidates) {
    const opened = openRegularFile(candidate.path)
    if (opened.ok) return found(new FileContent(candidate, opened.value, passedOver))
    if (opened.reason === 'absent') absent ??= opened
    else if (passesOver) passedOver ??= opened
    else return opened
  }
  return passedOver ?? absent ?? unreadable('', 'EUNKNOWN')
}

/** What a function reads, in chunks. */
function* chunksOf(
  read: (position: number, length: number) => Buffer,
  from: number,
  until: number,
): Generator<Buffer> {
  for (let position = from; position < until; ) {
    const chunk = read(position, Math.min(chunkBytes, until - position))
    if (chunk.length === 0) return
    position += chunk.length
    yield chunk
  }
}

/** Opens a regular file anywhere, a compressed one as what it contains. Links, pipes and devices are never opened. */
export function openFile(path: string, gzip = false): ReadResult<FileContent> {
  return openFirst([{ path, place: 'live', gzip }])
}

function candidate(path: string, place: Candidate['place'], gzip = false): Candidate {
  return { path, place, gzip }
}

function inflateFailure(path: string, error: unknown): ReadFailure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return unreadable(path, code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'bad_gzip')
}
