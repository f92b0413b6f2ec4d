/** Takes the files of a bundle one after the other, and says what is wrong with them. */
import { createHash, type Hash } from 'node:crypto'
import { parseSegmentName, type SegmentReader } from '@kim/manifest'
import type { SegmentEntry } from '@kim/observer-sdk/history'
import type { Findings } from '@kim/observer-sdk/verify'
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
import type { TarEntry, TarSink } from './tar.js'

/** A file that is not what the manifest says, or of which the manifest says what is not so. */
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
  /** Checks of a journal that say nothing of a slice. */
  readonly not_applicable: readonly string[]
}

/** Judges a bundle from what its files hold; the manifest comes first. */
export class BundleJudge implements TarSink {
  readonly #digests = new Map<string, BundledFile>()
  readonly #wrong: WrongFile[] = []
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

  begin({ path, size }: TarEntry): void {
    this.#open = { path, hash: createHash('sha256'), bytes: 0 }
    const isManifest = path === bundleFile && size <= MANIFEST_BYTES_MAX
    if (this.#digests.has(path) || (isManifest && this.#manifest !== undefined))
      this.#wrong.push({ path, why: 'twice' })
    else if (isManifest) this.#manifestParts = []
    const name = path.startsWith(`${bundleEvents}/`) ? path.slice(bundleEvents.length + 1) : ''
    const number = parseSegmentName(name)
    if (number === undefined) return
    const entry = { number, name, place: 'live' } as const
    this.#reading ??= new Reading(
      { after: (this.#manifest?.range.from_seq ?? number) - 1 },
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
    if (this.#manifestParts !== undefined) this.#manifest = parseBundle(Buffer.concat(this.#manifestParts))
    else if (!this.#digests.has(open.path))
      this.#digests.set(open.path, { path: open.path, bytes: open.bytes, sha256: open.hash.digest('hex') })
    this.#manifestParts = undefined
    if (this.#segment !== undefined) this.#reading?.endSegment(this.#segment.entry, undefined)
    this.#segment = undefined
    this.#open = undefined
  }

  get #isRedacted(): boolean {
    return this.#manifest !== undefined && this.#manifest.redact !== 'none'
  }

  /** It is there, and is no file that can be read. */
  unreadable(path: string): void {
    this.#wrong.push({ path, why: 'unreadable' })
  }

  /** It is there, and the manifest knows nothing of it. */
  unlisted(path: string): void {
    this.#wrong.push({ path, why: 'unlisted' })
  }

  verdict(broken: string | undefined): BundleVerdict {
    const manifest = this.#manifest
    const { exit, findings } = this.#reading?.damage.close({
      isForeign: false,
      isRedacted: this.#isRedacted,
    }) ?? {
      exit: 0 as const,
      findings: {},
    }
    const wrong = manifest === undefined ? [] : [...this.#wrong, ...this.#against(manifest)]
    const why = broken ?? (manifest === undefined ? `${bundleFile} is missing or cannot be read` : null)
    const isWrong = new Set(wrong.map(({ path }) => path))
    return {
      exit: why !== null || wrong.length > 0 ? 6 : exit,
      broken: why,
      manifest: manifest ?? null,
      files: [...this.#digests.keys()].filter(path => !isWrong.has(path)).length,
      wrong,
      findings,
      records: this.#reading?.records ?? 0,
      redacted_lines: this.#isRedacted ? (this.#reading?.damage.takenOut ?? 0) : 0,
      not_applicable: notApplicable(manifest),
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
    for (const { path, bytes, sha256 } of files) {
      const found = this.#digests.get(path)
      if (listed.has(path))
        wrong.push({ path: bundleFile, why: 'disagrees', detail: `it lists ${path} twice` })
      else if (!isBundlePath(path)) wrong.push({ path, why: 'misplaced' })
      else if (found === undefined && !known.has(path)) wrong.push({ path, why: 'absent' })
      else if (found !== undefined && (found.bytes !== bytes || found.sha256 !== sha256))
        wrong.push({ path, why: 'changed' })
      listed.add(path)
    }
    for (const path of this.#digests.keys())
      if (!listed.has(path) && !known.has(path)) wrong.push({ path, why: 'unlisted' })
    // Where a file is wrong it is no wonder that what they hold is counted differently.
    if (wrong.length > 0 || known.size > 0) return wrong
    const claims = [
      ['records', records, this.#records],
      ['range.from_seq', range.from_seq, this.#first],
      ['range.to_seq', range.to_seq, this.#last],
    ] as const
    return claims
      .filter(([, said, found]) => said !== found)
      .map(([name, said, found]) => ({
        path: bundleFile,
        why: 'disagrees',
        detail: `it states ${name} ${said}, but the bundle has ${found ?? 'none'}`,
      }))
  }
}

/** A slice has no beginning to fold from, and what was redacted has no hash to agree with. */
function notApplicable(manifest: BundleManifest | undefined): string[] {
  const blobs = manifest?.redact === 'none' ? [] : ['blobs']
  return [...blobs, 'chain', 'checkpoints', 'digest', 'revisions', 'schema']
}
