/** Judges a bundle: its files by its manifest, and its slice by what a slice can be judged by. */
import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { nextTurn, parseSegmentName, type SegmentReader } from '@kim/manifest'
import { type FileContent, listEntries, openFile, type SegmentEntry } from '@kim/observer-sdk/history'
import type { Findings, PassControl } from '@kim/observer-sdk/verify'
import { Reading } from '../reading.js'
import {
  type BundledFile,
  type BundleManifest,
  bundleEvents,
  bundleFile,
  isBundlePath,
  MANIFEST_BYTES_MAX,
  parseBundle,
} from './manifest.js'
import { readTar, type TarEntry, type TarSink } from './tar.js'

/** A file that is not what the manifest says, or about which the manifest is wrong. */
interface WrongFile {
  readonly path: string
  readonly why: 'absent' | 'changed' | 'disagrees' | 'misplaced' | 'twice' | 'unlisted' | 'unreadable'
  readonly detail?: string
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
  /** Checks of a journal that cannot be made of a slice. */
  readonly not_applicable: readonly string[]
}

/** Judges a packed bundle; `content` is that of the archive, unpacked. */
export async function verifyPacked(content: FileContent, control: PassControl): Promise<BundleVerdict> {
  const judge = new BundleJudge()
  const broken = await readTar(chunksOf(content, control), judge)
  return judge.verdict(content.failure === undefined ? broken : 'it cannot be unpacked')
}

/** Judges an unpacked bundle. */
export async function verifyUnpacked(directory: string, control: PassControl): Promise<BundleVerdict> {
  const judge = new BundleJudge()
  const take = async (name: string): Promise<void> => {
    const opened = openFile(join(directory, name))
    if (!opened.ok) {
      judge.wrong(name, 'unreadable')
      return
    }
    try {
      judge.begin({ path: name, size: opened.value.storedBytes })
      for await (const chunk of chunksOf(opened.value, control)) judge.chunk(chunk)
      judge.end()
    } finally {
      opened.value.close()
    }
  }
  await take(bundleFile)
  const { listed } = judge
  for (const name of namesBelow(directory, '', listed)) {
    // A file that is not listed is reported and not read: it may be anything.
    if (listed.has(name)) await take(name)
    else if (name !== bundleFile) judge.wrong(name, 'unlisted')
  }
  return judge.verdict(undefined)
}

/** Every entry of a directory, by its path; a directory without a listed file in it is one entry. */
function* namesBelow(root: string, prefix: string, listed: ReadonlySet<string>): Generator<string> {
  const entries = listEntries(join(root, prefix))
  for (const { name, kind } of entries.ok ? entries.value : []) {
    const path = `${prefix}${name}`
    const isOnTheWay = kind === 'other' && [...listed].some(file => file.startsWith(`${path}/`))
    if (isOnTheWay) yield* namesBelow(root, `${path}/`, listed)
    else yield path
  }
}

async function* chunksOf(
  content: FileContent,
  { onProgress, signal }: PassControl,
): AsyncGenerator<Buffer, void> {
  for await (const chunk of content.stream()) {
    await nextTurn(signal)
    onProgress?.({ done: content.readBytes, total: content.storedBytes })
    yield chunk
  }
}

/** Judges a bundle from what its files contain; the manifest comes first. */
class BundleJudge implements TarSink {
  readonly #digests = new Map<string, BundledFile>()
  readonly #wrong: WrongFile[] = []
  readonly #origin = { isForeign: () => false, isRedacted: () => this.isRedacted }
  #manifest: BundleManifest | undefined
  #manifestParts: Buffer[] | undefined
  #reading: Reading | undefined
  /** Records with or without effect, as the manifest counts them. */
  #records = 0
  #first: number | undefined
  #last: number | undefined
  #open: { readonly path: string; readonly hash: Hash; bytes: number } | undefined
  #segment: { readonly entry: SegmentEntry; readonly reader: SegmentReader } | undefined

  /** The paths that the manifest lists; none before it was read. */
  get listed(): ReadonlySet<string> {
    return new Set(this.#manifest?.files.map(({ path }) => path))
  }

  get isRedacted(): boolean {
    return this.#manifest !== undefined && this.#manifest.redact !== 'none'
  }

  begin({ path, size }: TarEntry): void {
    this.#open = { path, hash: createHash('sha256'), bytes: 0 }
    const isManifest = path === bundleFile && size <= MANIFEST_BYTES_MAX
    if (this.#digests.has(path) || (isManifest && this.#manifest !== undefined)) this.wrong(path, 'twice')
    else if (isManifest) this.#manifestParts = []
    const name = path.startsWith(`${bundleEvents}/`) ? path.slice(bundleEvents.length + 1) : ''
    const number = parseSegmentName(name)
    if (number === undefined) return
    const entry = { number, name, place: 'live' } as const
    this.#reading ??= new Reading(
      { after: (this.#manifest?.range.from_seq ?? number) - 1, origin: this.#origin },
      { isBeyond: ({ seq }) => this.#count(seq) },
    )
    this.#segment = { entry, reader: this.#reading.beginSegment(entry, 0) }
  }

  chunk(bytes: Buffer): void {
    const open = this.#open
    if (open === undefined) return
    open.hash.update(bytes)
    open.bytes += bytes.length
    this.#manifestParts?.push(Buffer.from(bytes))
    this.#segment?.reader.push(bytes)
  }

  end(): void {
    const open = this.#open
    if (open === undefined) return
    const { path, bytes, hash } = open
    if (this.#manifestParts !== undefined) this.#manifest = parseBundle(Buffer.concat(this.#manifestParts))
    else if (!this.#digests.has(path)) this.#digests.set(path, { path, bytes, sha256: hash.digest('hex') })
    this.#manifestParts = undefined
    if (this.#segment !== undefined) this.#reading?.endSegment(this.#segment.entry, undefined)
    this.#segment = undefined
    this.#open = undefined
  }

  wrong(path: string, why: WrongFile['why']): void {
    this.#wrong.push({ path, why })
  }

  verdict(broken: string | undefined): BundleVerdict {
    const manifest = this.#manifest
    const reading = this.#reading
    const { exit, findings } = reading?.close() ?? { exit: 0 as const, findings: {} }
    const wrong = manifest === undefined ? [] : [...this.#wrong, ...this.#against(manifest)]
    const why = broken ?? (manifest === undefined ? `${bundleFile} is missing or cannot be read` : null)
    const blobs = manifest?.redact === 'none' ? [] : ['blobs']
    const isWrong = new Set(wrong.map(({ path }) => path))
    return {
      exit: why !== null || wrong.length > 0 ? 6 : exit,
      broken: why,
      manifest: manifest ?? null,
      files: [...this.#digests.keys()].filter(path => !isWrong.has(path)).length,
      wrong,
      findings,
      records: reading?.records ?? 0,
      redacted_lines: this.isRedacted ? (reading?.redactedLines ?? 0) : 0,
      // A slice has no beginning to fold from, and what was redacted has no hash to agree with.
      not_applicable: [...blobs, 'chain', 'checkpoints', 'digest', 'revisions', 'schema'],
    }
  }

  /** Every record passes here once, in file order; none is beyond anything. */
  #count(seq: number): boolean {
    this.#records += 1
    this.#first ??= seq
    this.#last = seq
    return false
  }

  #against({ files, range, records }: BundleManifest): WrongFile[] {
    const wrong: WrongFile[] = []
    const known = new Set(this.#wrong.map(({ path }) => path))
    const listed = new Set<string>()
    const disagrees = (detail: string): void =>
      void wrong.push({ path: bundleFile, why: 'disagrees', detail })
    for (const { path, bytes, sha256 } of files) {
      const found = this.#digests.get(path)
      if (listed.has(path)) disagrees(`it lists ${path} twice`)
      else if (!isBundlePath(path)) wrong.push({ path, why: 'misplaced' })
      else if (found === undefined && !known.has(path)) wrong.push({ path, why: 'absent' })
      else if (found !== undefined && (found.bytes !== bytes || found.sha256 !== sha256))
        wrong.push({ path, why: 'changed' })
      listed.add(path)
    }
    for (const path of this.#digests.keys())
      if (!listed.has(path) && !known.has(path)) wrong.push({ path, why: 'unlisted' })
    // If a file is wrong, the counts differ for that reason.
    if (wrong.length > 0 || known.size > 0) return wrong
    const claims = [
      ['records', records, this.#records],
      ['range.from_seq', range.from_seq, this.#first],
      ['range.to_seq', range.to_seq, this.#last],
    ] as const
    for (const [name, said, found] of claims)
      if (said !== found) disagrees(`it states ${name} ${said}, but the bundle has ${found ?? 'none'}`)
    return wrong
  }
}
