/** What a journal directory looks like from outside: is it there, is it the same one, which segments are in it. */
import { type BigIntStats, lstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { eventsPaths, segmentName } from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import { listStore, type StoreListing } from '../store/listing.js'
import { found, listEntries, type ReadFailure, type ReadResult } from '../store/read-only-fs.js'
import { notifies } from '../watch/shared-watch.js'
import { ActiveSegmentReader, AHEAD_BYTES } from './active-segment-reader.js'

/**
 * A listing this much younger than the directory's last change is made again at the next look: within one tick
 * of a file system's clock a second change leaves no trace.
 */
const SETTLED_MS = 3_000

/** The same where a tick is known to be short: on a file system of this machine that tells parts of a second. */
const SETTLED_SOON_MS = 100

/** Times of a coarse clock are multiples of this: a tick of FAT takes 2 s, of HFS+ 1 s, of exFAT 10 ms. */
const COARSE_NS = 10_000_000n

/** How long what shows only inside a subdirectory is left alone. */
const INNER_MS = 30_000

const NOTHING: StoreListing = { segments: [], checkpoints: [], shadowed: [], misnamed: [], failures: [] }

const NOTHING_NEW: DirectoryScan = {
  identity: undefined,
  readable: false,
  changed: false,
  replaced: false,
  healed: false,
  failures: 0,
  tip: undefined,
}

/** The newest segment as it was just seen. */
export interface Tip extends FileNow {
  readonly number: number
  /** It may be longer: a read-ahead did not come to its end. */
  readonly isLonger?: boolean
  /** What a read-ahead read of it, and where that begins. */
  readonly ahead?: { readonly offset: number; readonly bytes: Buffer }
}

/** What a look found out. */
export interface DirectoryScan {
  /** Identity of the directory; absent if there is none. */
  readonly identity: string | undefined
  /** Whether the directory is there and can be listed. */
  readonly readable: boolean
  /** Whether anything differs from the look before. */
  readonly changed: boolean
  /** Whether a known live segment is another file than before. */
  readonly replaced: boolean
  /** Whether something that had to be passed over can be read now. */
  readonly healed: boolean
  /** How much of what is there can not even be taken for a file of the journal. */
  readonly failures: number
  readonly tip: Tip | undefined
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
  #listing = NOTHING
  #identity: string | undefined
  #readable = false
  #failures = 0
  #changedNs: bigint | undefined
  #listedMs = 0
  readonly #innerMs: number
  #lookedInside = Number.NEGATIVE_INFINITY
  /** What stood in the directory itself at the last listing. */
  #entries: string | undefined
  /** When the archive last changed, as of the last listing. */
  #archivedNs: bigint | undefined
  #tip: Tip | undefined
  readonly #active = new ActiveSegmentReader()
  #isHolding = false
  /** Whether it is on a file system of this machine, of Linux, as far as is known; asked once of each directory. */
  #isNear: boolean | undefined

  constructor(path: string, innerMs: number = INNER_MS) {
    this.path = path
    this.#innerMs = innerMs
  }

  /** The files as of the last look. */
  get listing(): StoreListing {
    return this.#listing
  }

  /** Identity of the directory as of the last look. */
  get identity(): string | undefined {
    return this.#identity
  }

  /** Number of the first segment after this one. */
  after(number: number): number | undefined {
    const { segments } = this.#listing
    if (number >= (segments.at(-1)?.number ?? 0)) return undefined
    let low = 0
    let high = segments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((segments[middle] as { number: number }).number <= number) low = middle + 1
      else high = middle
    }
    return segments[low]?.number
  }

  /** Holds the newest segment open from now on, or nothing any more. */
  hold(isHolding: boolean): void {
    this.#isHolding = isHolding
    if (!isHolding) this.#active.release()
  }

  /** A live segment as it is now; undefined if none can be seen. `tip`: what was seen in this turn. */
  segmentNow(number: number, tip?: Tip): FileNow | undefined {
    if (tip?.number === number && tip.isLonger !== true) return tip
    return fileIdentityOf(join(this.path, segmentName(number)))
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

  /** Everything is compared with what is there from now on. */
  forget(): void {
    this.known.clear()
    this.copies.clear()
    this.passedOver.clear()
    this.#failures = 0
    this.#changedNs = undefined
  }

  /** Closes what `openSegment` gave, unless it is held from now on: it may have grown since the last look then. */
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
    const tip = this.#tip
    if (tip === undefined || tip.isLonger === true) return 'blind'
    const { number, identity, size } = tip
    const bytes = this.#active.readAhead(size)
    if (bytes === undefined) return 'blind'
    if (bytes.length === 0) return 'nothing'
    this.#tip = { number, identity, size: size + bytes.length, isLonger: bytes.length === AHEAD_BYTES }
    return { ...this.#tip, ahead: { offset: size, bytes } }
  }

  /** Looks: a call or two while nothing happens, a listing when the directory changed. */
  scan(): DirectoryScan {
    const scan = this.#scan()
    this.#active.check(this.#tip)
    return scan
  }

  #mayHold(number: number, { candidate, failure, identity }: FileContent): boolean {
    if (!this.#isHolding || failure !== undefined || candidate.place !== 'live') return false
    if (number !== this.#tip?.number || identity !== this.#tip.identity) return false
    // There an open file hinders nobody.
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
      // It may be there: what is known of it stands until the system lets us look again.
      const changed = this.#readable
      this.#readable = false
      this.#active.release()
      return { ...NOTHING_NEW, identity: this.#identity, changed, failures: this.#failures }
    }
    if (stat === undefined || !stat.isDirectory()) return this.#absent()
    const identity = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
    const isOther = identity !== this.#identity
    const isTouched = isOther || stat.mtimeNs !== this.#changedNs
    let changed = isOther
    let replaced = false
    if (isOther) {
      this.forget()
      this.#isNear = undefined
    }
    let healed = this.passedOver.recovered(this.path)
    const isSettled = this.#isSettled(stat)
    if (isTouched || !this.#readable || this.#isOtherInside() || (!isSettled && this.#isOtherBeside())) {
      const failures = this.#failures
      changed = this.#list() || changed || failures !== this.#failures
      const came = this.passedOver.appeared(this.#listing.segments, number => this.known.has(number))
      healed = came || this.#failures < failures || healed
    }
    // Within one tick this leaves no trace either.
    if (!isOther && (isTouched || !isSettled)) replaced = this.#isReplaced()
    this.#identity = identity
    this.#changedNs = stat.mtimeNs
    const tip = this.#lookAtTip()
    if (
      tip?.number !== this.#tip?.number ||
      tip?.size !== this.#tip?.size ||
      tip?.identity !== this.#tip?.identity
    )
      changed = true
    this.#tip = tip
    return {
      identity,
      readable: this.#readable,
      changed: changed || replaced || healed,
      replaced,
      healed,
      failures: this.#failures,
      tip,
    }
  }

  /** Whether other names stand in the directory itself than at the last listing. A segment that is archived leaves it. */
  #isOtherBeside(): boolean {
    this.#listedMs = Date.now()
    return entriesIn(this.path) !== this.#entries
  }

  /** What changes in a subdirectory, or that one can be read again, leaves no trace in this one. */
  #isOtherInside(): boolean {
    if (performance.now() < this.#lookedInside + this.#innerMs) return false
    this.#lookedInside = performance.now()
    return this.#failures > 0 || changedNs(eventsPaths(this.path).archive) !== this.#archivedNs
  }

  #absent(): DirectoryScan {
    const changed = this.#identity !== undefined
    this.#identity = undefined
    this.#readable = false
    this.#listing = NOTHING
    this.#tip = undefined
    this.forget()
    return { ...NOTHING_NEW, changed }
  }

  /** Whether the listing came out different. */
  #list(): boolean {
    this.#listedMs = Date.now()
    this.#lookedInside = performance.now()
    // Asked for first: what comes while it is listed makes it another one at the next look.
    this.#archivedNs = changedNs(eventsPaths(this.path).archive)
    this.#entries = entriesIn(this.path)
    const listed = listStore(this.path)
    const before = this.#listing
    const wasReadable = this.#readable
    this.#readable = listed.ok
    if (!listed.ok) return wasReadable
    this.#listing = listed.value
    this.#failures = listed.value.failures.length
    const { segments } = listed.value
    return (
      !wasReadable ||
      segments.length !== before.segments.length ||
      segments.some(
        ({ number, place }, i) =>
          before.segments[i]?.number !== number || before.segments[i]?.place !== place,
      )
    )
  }

  #isReplaced(): boolean {
    for (const { number, place } of this.#listing.segments) {
      const identity = this.known.get(number)
      if (identity === undefined || place !== 'live') continue
      const now = fileIdentityOf(join(this.path, segmentName(number)))
      if (now !== undefined && now.identity !== identity) return true
    }
    return false
  }

  #lookAtTip(): Tip | undefined {
    const newest = this.#listing.segments.at(-1)
    if (newest === undefined || newest.place !== 'live') return undefined
    const now = fileIdentityOf(join(this.path, newest.name))
    return now === undefined ? undefined : { number: newest.number, ...now }
  }
}

/** What stands in a directory, by name and kind; undefined if that cannot be seen. */
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

/** A file as it stands under its path. */
export interface FileNow {
  readonly identity: string
  readonly size: number
}

/** Which file stands under a path, and how long it is; undefined if none can be seen. */
function fileIdentityOf(path: string): FileNow | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    if (stat === undefined) return undefined
    return { identity: `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`, size: Number(stat.size) }
  } catch {
    return undefined
  }
}

/** Segments that what follows them was read without. Once one can be read, whatever was derived lacks it. */
export class PassedOver {
  /** What stood there when it could not be read, where that can be told. */
  readonly #unreadable = new Map<number, string | undefined>()
  /** Every segment that was listed, and read if it could be. */
  readonly #listed = new Set<number>()
  #newest = 0

  /** Everything is looked at afresh from here on. */
  clear(): void {
    this.#unreadable.clear()
    this.#listed.clear()
    this.#newest = 0
  }

  /** This one is there and cannot be read, or only a copy of it can. */
  unreadable(number: number, content?: FileContent): void {
    this.#unreadable.set(number, content && stampOf(content))
  }

  /** This one was listed and is gone. */
  gone(number: number): void {
    this.#listed.delete(number)
  }

  /** Whether a segment came between those that are known, behind the newest of them. `isRead`: of those that went. */
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
    if (!opened.ok) {
      if (opened.reason === 'absent') return true
      this.#unreadable.set(number, stamp)
      return false
    }
    const now = stampOf(opened.value)
    opened.value.close()
    if (now !== stamp) return true
    this.#unreadable.set(number, stamp)
    return false
  }
}

/** The same value as long as the same thing is read in the same place. */
function stampOf({ candidate, identity, storedBytes }: FileContent): string {
  // A live segment grows while it cannot be read to its end, which makes it no other.
  return `${candidate.path} ${identity} ${candidate.gzip ? storedBytes : ''}`
}
