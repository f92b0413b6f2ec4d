/** Judges a bundle: its files by its manifest, and its slice by what a slice can be judged by. */
import { createHash, type Hash } from 'node:crypto'
import { join, relative, sep } from 'node:path'
import { LineFramer, parseSegmentName } from '@kim/manifest'
import { gunzipStream } from '../../store/gzip.js'
import type { SegmentEntry } from '../../store/listing.js'
import { closeFile, listEntries, type OpenFile, openRegularFile, readAt } from '../../store/read-only-fs.js'
import type { Findings } from '../../verify/findings.js'
import { Pace, type PassOptions } from '../../verify/pace.js'
import { Reading } from '../reading.js'
import { type BundledFile, type BundleManifest, bundleEvents, bundleFile, parseBundle } from './manifest.js'
import { readTar, type TarEntry, type TarSink } from './tar.js'

/** A file that is not what the manifest says. */
interface WrongFile {
  readonly path: string
  readonly why: 'changed' | 'absent' | 'unlisted' | 'unreadable'
}

/** What `verify` says of a bundle. */
export interface BundleVerdict {
  readonly exit: 0 | 5 | 6
  /** Why it cannot be judged at all. */
  readonly broken: string | null
  readonly manifest: BundleManifest | null
  /** Files that are what the manifest says. */
  readonly files: number
  readonly wrong: readonly WrongFile[]
  readonly findings: Findings
  readonly records: number
  /** Lines that were no records and whose bytes were taken out. */
  readonly redacted_lines: number
  /** Checks of a journal that say nothing of a slice. */
  readonly not_applicable: readonly string[]
}

const MANIFEST_BYTES_MAX = 64 * 1024 * 1024
const CHUNK = 256 * 1024

/** Judges a packed bundle. */
export async function verifyPacked(file: OpenFile, options: PassOptions): Promise<BundleVerdict> {
  const pace = new Pace(options)
  pace.expect(file.size)
  const judge = new BundleJudge()
  let broken: string | undefined
  try {
    broken = await readTar(paced(gunzipStream(chunksOf(file, pace), CHUNK), pace), judge)
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    broken = 'it cannot be unpacked'
  }
  return judge.verdict(broken)
}

/** Judges an unpacked bundle. */
export async function verifyUnpacked(directory: string, options: PassOptions): Promise<BundleVerdict> {
  const pace = new Pace(options)
  const judge = new BundleJudge()
  const paths = [join(directory, bundleFile), ...filesBelow(join(directory, bundleEvents))]
  for (const path of paths) {
    const name = relative(directory, path).split(sep).join('/')
    const opened = openRegularFile(path)
    if (!opened.ok) {
      judge.unreadable(name)
      continue
    }
    try {
      judge.begin({ path: name, size: opened.value.size })
      for (const chunk of chunksOf(opened.value, pace)) {
        judge.chunk(chunk)
        await pace.turn(chunk.length)
      }
      judge.end()
    } finally {
      closeFile(opened.value)
    }
  }
  return judge.verdict(undefined)
}

function filesBelow(directory: string): string[] {
  const listed = listEntries(directory)
  if (!listed.ok) return []
  return listed.value.flatMap(({ name, kind }) =>
    kind === 'other' ? filesBelow(join(directory, name)) : [join(directory, name)],
  )
}

function* chunksOf(file: OpenFile, pace: Pace): Generator<Buffer> {
  for (let at = 0; at < file.size; at += CHUNK) {
    const chunk = Buffer.alloc(Math.min(CHUNK, file.size - at))
    readAt(file, chunk, 0, chunk.length, at)
    pace.advance(chunk.length)
    yield chunk
  }
}

async function* paced(chunks: AsyncIterable<Buffer>, pace: Pace): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    await pace.turn(chunk.length)
    yield chunk
  }
}

class BundleJudge implements TarSink {
  readonly #digests = new Map<string, BundledFile>()
  readonly #unreadable: string[] = []
  #manifest: BundleManifest | undefined
  #manifestParts: Buffer[] | undefined
  #reading: Reading | undefined
  #redactedLines = 0
  #open: { readonly path: string; readonly hash: Hash; bytes: number } | undefined
  #segment: { readonly entry: SegmentEntry; readonly framer: LineFramer } | undefined

  begin({ path, size }: TarEntry): void {
    this.#open = { path, hash: createHash('sha256'), bytes: 0 }
    if (path === bundleFile && size <= MANIFEST_BYTES_MAX && this.#manifest === undefined)
      this.#manifestParts = []
    const name = path.startsWith(`${bundleEvents}/`) ? path.slice(bundleEvents.length + 1) : ''
    const number = parseSegmentName(name)
    if (number === undefined) return
    this.#segment = { entry: { number, name, place: 'live' }, framer: new LineFramer() }
    this.#reading ??= new Reading({ after: (this.#manifest?.range.from_seq ?? number) - 1 })
    this.#reading.beginSegment()
  }

  chunk(bytes: Buffer): void {
    const open = this.#open
    if (open === undefined) return
    open.hash.update(bytes)
    open.bytes += bytes.length
    this.#manifestParts?.push(Buffer.from(bytes))
    if (this.#segment === undefined) return
    const { entry, framer } = this.#segment
    for (const line of framer.push(bytes)) {
      // What a redaction put in place of a line that was no record is not judged again.
      if (line.kind === 'line' && this.#isRedacted && isPlaceholder(line.bytes)) this.#redactedLines += 1
      else this.#reading?.line(line, entry)
    }
  }

  end(): void {
    const open = this.#open
    if (open === undefined) return
    if (this.#manifestParts !== undefined) this.#manifest = parseBundle(Buffer.concat(this.#manifestParts))
    else this.#digests.set(open.path, { path: open.path, bytes: open.bytes, sha256: open.hash.digest('hex') })
    this.#manifestParts = undefined
    if (this.#segment !== undefined) {
      const { entry, framer } = this.#segment
      this.#reading?.endSegment(entry, framer.pending, undefined)
    }
    this.#segment = undefined
    this.#open = undefined
  }

  get #isRedacted(): boolean {
    return this.#manifest !== undefined && this.#manifest.redact !== 'none'
  }

  unreadable(path: string): void {
    this.#unreadable.push(path)
  }

  verdict(broken: string | undefined): BundleVerdict {
    const manifest = this.#manifest
    const { exit, findings } = this.#reading?.damage.close() ?? { exit: 0 as const, findings: {} }
    const wrong = manifest === undefined ? [] : this.#wrong(manifest)
    const why = manifest === undefined ? `it holds no ${bundleFile} that can be read` : (broken ?? null)
    return {
      exit: why !== null || wrong.length > 0 ? 6 : exit,
      broken: why,
      manifest: manifest ?? null,
      files: this.#digests.size - wrong.filter(({ why }) => why !== 'absent').length,
      wrong,
      findings,
      records: this.#reading?.records ?? 0,
      redacted_lines: this.#redactedLines,
      not_applicable: notApplicable(manifest),
    }
  }

  #wrong({ files }: BundleManifest): WrongFile[] {
    const wrong: WrongFile[] = this.#unreadable.map(path => ({ path, why: 'unreadable' as const }))
    const listed = new Set(files.map(({ path }) => path))
    for (const { path, bytes, sha256 } of files) {
      const found = this.#digests.get(path)
      if (found === undefined) wrong.push({ path, why: 'absent' })
      else if (found.bytes !== bytes || found.sha256 !== sha256) wrong.push({ path, why: 'changed' })
    }
    for (const path of this.#digests.keys()) if (!listed.has(path)) wrong.push({ path, why: 'unlisted' })
    return wrong
  }
}

/** A slice has no beginning to fold from, and what was redacted has no hash to agree with. */
function notApplicable(manifest: BundleManifest | undefined): string[] {
  const blobs = manifest?.redact === 'none' ? [] : ['blobs']
  return [...blobs, 'chain', 'checkpoints', 'digest', 'revisions', 'schema']
}

const PLACEHOLDER = /^\{"bytes":\d{1,16},"redacted_line":true\}$/

function isPlaceholder(bytes: Uint8Array): boolean {
  return bytes.length < 64 && PLACEHOLDER.test(Buffer.from(bytes).toString('latin1'))
}
