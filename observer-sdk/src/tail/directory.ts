/** A journal directory from outside: whether it exists, whether it is the same one, which segments are in it. */
import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { eventsPaths, segmentName } from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import { countUpTo, listStore, type StoreListing } from '../store/listing.js'
import { found, identityOf, listEntries, type ReadFailure, type ReadResult } from '../store/read-only-fs.js'
import { notifies } from '../watch/watch.js'
import { ActiveSegmentReader } from './active-segment-reader.js'

/**
 * A listing this much younger than the directory's last change is made again at the next look: within one tick
 * of a file system's clock a second change leaves no trace.
 */
const SETTLED_MS = 3_000

/** The same where a tick is known to be short: on a file system of this machine that tells parts of a second. */
const SETTLED_SOON_MS = 100

/** Times of a coarse clock are multiples of this: a tick of FAT takes 2 s, of HFS+ 1 s, of exFAT 10 ms. */
const COARSE_NS = 10_000_000n

/** How long the segment before the newest one is left alone: only a writer that had stalled appends to it. */
const OLDER_MS = 1_000

/** How long what shows only inside a subdirectory is left alone. */
const INNER_MS = 30_000

const NOTHING: StoreListing = { segments: [], checkpoints: [], shadowed: [], misnamed: [], failures: [] }

/** A file as it is under its path. */
interface FileNow {
  readonly identity: string
  readonly size: number
}

/** The newest segment as it was just seen. */
export interface Tip extends FileNow {
  readonly number: number
  /** It may be longer: a read-ahead did not come to its end. */
  readonly isLonger?: boolean
  /** What a read-ahead read of it, and where that begins. */
  readonly ahead?: { readonly offset: number; readonly bytes: Buffer }
}

/** What a look found to be different from the look before. */
export interface DirectoryScan {
  /** Whether anything is. */
  readonly changed: boolean
  /** Whether a known live segment is another file. */
  readonly replaced: boolean
  /** Whether the segment before the newest one is longer than when the newest one was first seen. */
  readonly grown: boolean
  /** Whether something that had to be passed over can be read now. */
  readonly healed: boolean
}

/** One directory, looked at again and again. Never throws. */
export class JournalDirectory {
  readonly path: string
  /** Identity of every live segment that was read. */
  readonly known: Map<number, string> = new Map()
  /** Identity of every compressed copy that places were looked for in. */
  readonly copies: Map<number, string> = new Map()
  /** What had to be left out. */
  readonly passedOver: PassedOver = new PassedOver()
  /** The files as of the last look. */
  listing: StoreListing = NOTHING
  /** Identity of the directory as of the last look; undefined if there is none. */
  identity: string | undefined
  /** Whether the directory exists and can be listed. */
  readable = false
  /** How many files have a shape in which they cannot be read as files of the journal. */
  failures = 0
  /** The newest segment as of the last look or read-ahead. */
  tip: Tip | undefined
  /** The live segment before the newest one, and when it was looked at. */
  #older: (FileNow & { readonly number: number; readonly atMs: number }) | undefined
  #changedNs: bigint | undefined
  #listedMs = 0
  readonly #innerMs: number
  #lookedInside = Number.NEGATIVE_INFINITY
  /** The names in the directory itself at the last listing. */
  #entries: string | undefined
  /** When the archive last changed, as of the last listing. */
  #archivedNs: bigint | undefined
  readonly #active = new ActiveSegmentReader()
  #isHolding = false
  /** Whether the directory is on a file system of this machine, of Linux, as far as is known; asked once for each directory. */
  #isNear: boolean | undefined

  constructor(path: string, innerMs: number = INNER_MS) {
    this.path = path
    this.#innerMs = innerMs
  }

  /** Number of the first segment after this one. */
  after(number: number): number | undefined {
    const { segments } = this.listing
    if (number >= (segments.at(-1)?.number ?? 0)) return undefined
    return segments[countUpTo(segments, number)]?.number
  }

  /** Holds the newest segment open from now on, or nothing any more. */
  hold(isHolding: boolean): void {
    this.#isHolding = isHolding
    if (!isHolding) this.#active.release()
  }

  /** A live segment as it is now; undefined if none can be seen. `tip`: what was seen in this turn. */
  segmentNow(number: number, tip?: Tip): FileNow | undefined {
    if (tip?.number === number && tip.isLonger !== true) return tip
    try {
      const path = join(this.path, segmentName(number))
      const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
      return stat && { identity: identityOf(stat), size: Number(stat.size) }
    } catch {
      return undefined
    }
  }

  /** Opens a segment wherever it can be read, or lends the one that is held. For `closeSegment`, soon. */
  openSegment(number: number, tip?: Tip): ReadResult<FileContent> {
    const lent = this.#active.isOf(number) ? this.#active.lend(this.segmentNow(number, tip)) : undefined
    if (lent !== undefined) return found(lent)
    const opened = openSegment(this.path, number)
    if (!opened.ok) this.passOver(number, opened)
    return opened
  }

  /** Notes that what follows this segment is read without it, or by a copy of it. */
  passOver(number: number, { reason }: ReadFailure): void {
    if (reason === 'unreadable') this.passedOver.unreadable(number)
    else this.passedOver.gone(number)
  }

  /** From now on everything is compared with what exists now. */
  forget(): void {
    this.known.clear()
    this.copies.clear()
    this.passedOver.clear()
    this.failures = 0
    this.#older = undefined
    this.#changedNs = undefined
  }

  /** Closes what `openSegment` returned, unless it is held from now on: then it may have grown since the last look. */
  closeSegment(number: number, content: FileContent): 'held' | undefined {
    if (this.#active.owns(content)) {
      if (content.failure !== undefined) this.#active.release()
    } else if (this.#mayHold(number, content)) {
      this.#active.hold(number, content)
      return 'held'
    } else content.close()
    return undefined
  }

  /** Reads what came to the held segment, by one call. A look has to follow: `blind` if only that can tell. */
  readAhead(): Tip | 'nothing' | 'blind' {
    const tip = this.tip
    if (tip === undefined || tip.isLonger === true) return 'blind'
    const { number, identity, size } = tip
    const { bytes, isLonger = false } = this.#active.readAhead(size) ?? {}
    if (bytes === undefined) return 'blind'
    if (bytes.length === 0) return 'nothing'
    this.tip = { number, identity, size: size + bytes.length, isLonger }
    return { ...this.tip, ahead: { offset: size, bytes } }
  }

  /** Looks: a call or two while nothing happens, a listing when the directory has changed. */
  scan(): DirectoryScan {
    const scan = this.#scan()
    this.#active.check(this.tip)
    return scan
  }

  #mayHold(number: number, { candidate, failure, identity }: FileContent): boolean {
    if (!this.#isHolding || failure !== undefined || candidate.place !== 'live') return false
    if (number !== this.tip?.number || identity !== this.tip.identity) return false
    // Only there an open file is in no program's way.
    return this.#isHere()
  }

  #isHere(): boolean {
    this.#isNear ??= notifies(this.path)
    return this.#isNear
  }

  /** Whether the listing is so much younger than the directory's last change that no second one can hide behind it. */
  #isSettled({ mtimeNs }: BigIntStats): boolean {
    const sinceMs = this.#listedMs - Number(mtimeNs / 1_000_000n)
    if (sinceMs >= SETTLED_MS) return true
    return sinceMs >= SETTLED_SOON_MS && mtimeNs % COARSE_NS !== 0n && this.#isHere()
  }

  #scan(): DirectoryScan {
    let stat: BigIntStats | undefined
    try {
      stat = statSync(this.path, { bigint: true, throwIfNoEntry: false })
    } catch {
      // It may exist: what is known of it is kept until the system lets us look again.
      const changed = this.readable
      this.readable = false
      this.#active.release()
      return { changed, replaced: false, grown: false, healed: false }
    }
    if (stat === undefined || !stat.isDirectory()) return this.#absent()
    const identity = identityOf(stat)
    const isOther = identity !== this.identity
    const isTouched = isOther || stat.mtimeNs !== this.#changedNs
    let changed = isOther
    let replaced = false
    if (isOther) {
      this.forget()
      this.#isNear = undefined
    }
    let healed = this.passedOver.recovered(this.path)
    const isSettled = this.#isSettled(stat)
    if (isTouched || !this.readable || this.#isOtherInside() || (!isSettled && this.#isOtherBeside())) {
      const failures = this.failures
      changed = this.#list() || changed || failures !== this.failures
      const came = this.passedOver.appeared(this.listing.segments, number => this.known.has(number))
      healed = came || this.failures < failures || healed
    }
    // Within one tick this leaves no trace either.
    if (!isOther && (isTouched || !isSettled)) replaced = this.#isReplaced()
    this.identity = identity
    this.#changedNs = stat.mtimeNs
    const tip = this.#lookAtTip()
    if (
      tip?.number !== this.tip?.number ||
      tip?.size !== this.tip?.size ||
      tip?.identity !== this.tip?.identity
    )
      changed = true
    this.tip = tip
    const grown = this.#isOlderGrown()
    return { changed: changed || replaced || grown || healed, replaced, grown, healed }
  }

  /** Whether the directory itself has other names than at the last listing. A segment that is archived leaves it. */
  #isOtherBeside(): boolean {
    this.#listedMs = Date.now()
    return entriesIn(this.path) !== this.#entries
  }

  /** What changes in a subdirectory, or that one can be read again, leaves no trace in this one. */
  #isOtherInside(): boolean {
    if (performance.now() < this.#lookedInside + this.#innerMs) return false
    this.#lookedInside = performance.now()
    return this.failures > 0 || changedNs(eventsPaths(this.path).archive) !== this.#archivedNs
  }

  #absent(): DirectoryScan {
    const changed = this.identity !== undefined
    this.identity = undefined
    this.readable = false
    this.listing = NOTHING
    this.tip = undefined
    this.forget()
    return { changed, replaced: false, grown: false, healed: false }
  }

  /** Whether the listing came out different. */
  #list(): boolean {
    this.#listedMs = Date.now()
    this.#lookedInside = performance.now()
    // Asked for first: what comes while it is listed makes it another one at the next look.
    this.#archivedNs = changedNs(eventsPaths(this.path).archive)
    this.#entries = entriesIn(this.path)
    const listed = listStore(this.path)
    const before = this.listing
    const wasReadable = this.readable
    this.readable = listed.ok
    if (!listed.ok) return wasReadable
    this.listing = listed.value
    this.failures = listed.value.failures.length
    return !wasReadable || placesIn(listed.value) !== placesIn(before)
  }

  #isReplaced(): boolean {
    for (const { number, place } of this.listing.segments) {
      const identity = this.known.get(number)
      if (identity === undefined || place !== 'live') continue
      const now = this.segmentNow(number)
      if (now !== undefined && now.identity !== identity) return true
    }
    return false
  }

  /** Whether a writer that had stalled appended to the segment before the newest one. */
  #isOlderGrown(): boolean {
    const entry = this.listing.segments.at(-2)
    const before = entry?.number === this.#older?.number ? this.#older : undefined
    const atMs = performance.now()
    if (before !== undefined && atMs < before.atMs + OLDER_MS) return false
    const now = entry?.place === 'live' ? this.segmentNow(entry.number) : undefined
    this.#older = entry && now && { number: entry.number, ...now, atMs }
    return before?.identity === now?.identity && (now?.size ?? 0) > (before?.size ?? Number.POSITIVE_INFINITY)
  }

  #lookAtTip(): Tip | undefined {
    const newest = this.listing.segments.at(-1)
    if (newest?.place !== 'live') return undefined
    const now = this.segmentNow(newest.number)
    return now && { number: newest.number, ...now }
  }
}

/** The segments of a listing and where each is read, as a text to compare. */
function placesIn({ segments }: StoreListing): string {
  return segments.map(({ number, place }) => `${number} ${place}`).join()
}

/** What is in a directory, by name and kind; undefined if that cannot be seen. */
function entriesIn(path: string): string | undefined {
  const entries = listEntries(path)
  return entries.ok ? entries.value.map(({ kind, name }) => `${name}/${kind}`).join() : undefined
}

/** When a directory last changed; undefined if there is none, or none can be seen. */
function changedNs(path: string): bigint | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs
  } catch {
    return undefined
  }
}

/** Segments that were left out when what follows them was read. Once one can be read, the derived state lacks it. */
export class PassedOver {
  /** What was there when it could not be read, where that is known. */
  readonly #unreadable = new Map<number, string | undefined>()
  /** Every segment that was listed, and read if it could be. */
  readonly #listed = new Set<number>()
  #newest = 0

  clear(): void {
    this.#unreadable.clear()
    this.#listed.clear()
    this.#newest = 0
  }

  /** This one exists and cannot be read, or only a copy of it can. */
  unreadable(number: number, content?: FileContent): void {
    this.#unreadable.set(number, content && stampOf(content))
  }

  /** This one was listed and is missing. */
  gone(number: number): void {
    this.#listed.delete(number)
  }

  /** Whether a segment came between those that are known, behind the newest of them. `isRead`: of those that are missing. */
  appeared(segments: readonly { readonly number: number }[], isRead: (number: number) => boolean): boolean {
    const there = new Set(segments.map(({ number }) => number))
    for (const number of this.#listed) if (!there.has(number) && !isRead(number)) this.#listed.delete(number)
    const { length } = segments.filter(({ number }) => number < this.#newest && !this.#listed.has(number))
    for (const { number } of segments) this.#listed.add(number)
    this.#newest = Math.max(this.#newest, segments.at(-1)?.number ?? 0)
    return length > 0
  }

  /** Whether one that could not be read is different now. One a look: a store full of damage must not make it dear. */
  recovered(eventsDir: string): boolean {
    const [tried] = this.#unreadable
    if (tried === undefined) return false
    const [number, stamp] = tried
    this.#unreadable.delete(number)
    const opened = openSegment(eventsDir, number)
    if (opened.ok) opened.value.close()
    const isOther = opened.ok ? stampOf(opened.value) !== stamp : opened.reason === 'absent'
    // The next look tries another one.
    if (!isOther) this.#unreadable.set(number, stamp)
    return isOther
  }
}

/** The same value as long as the same thing is read in the same place. */
function stampOf({ candidate, identity, storedBytes }: FileContent): string {
  // A live segment grows while it cannot be read to its end, which makes it no other.
  return `${candidate.path} ${identity} ${candidate.gzip ? storedBytes : ''}`
}
