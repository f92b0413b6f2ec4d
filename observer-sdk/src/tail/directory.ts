/** What a journal directory looks like from outside: is it there, is it the same one, which segments are in it. */
import { type BigIntStats, statSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { listStore, type StoreListing } from '../store/listing.js'
import { identityOf } from './file-identity.js'

/**
 * A listing this much younger than the directory's last change is made again at the next look: within one tick
 * of a file system's clock a second change leaves no trace.
 */
const SETTLED_MS = 3_000

const NOTHING: StoreListing = { segments: [], checkpoints: [], shadowed: [], misnamed: [], failures: [] }

/** The newest segment as a look found it. */
interface Tip {
  readonly number: number
  readonly size: number
  readonly identity: string
}

/** What a look found out. */
export interface Glance {
  /** Identity of the directory; absent if there is none. */
  readonly identity: string | undefined
  /** Whether the directory is there and can be listed. */
  readonly readable: boolean
  /** Whether anything differs from the look before. */
  readonly changed: boolean
  /** Whether a known live segment is another file than before. */
  readonly replaced: boolean
}

/** One directory, looked at again and again. Never throws. */
export class JournalDirectory {
  readonly path: string
  /** Identity of every live segment that was read. */
  readonly known: Map<number, string> = new Map()
  #listing = NOTHING
  #identity: string | undefined
  #readable = false
  #changedMs = Number.NaN
  #listedMs = 0
  #tip: Tip | undefined

  constructor(path: string) {
    this.path = path
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
    let low = 0
    let high = segments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((segments[middle] as { number: number }).number <= number) low = middle + 1
      else high = middle
    }
    return segments[low]?.number
  }

  /** Looks: a call or two while nothing happens, a listing when the directory changed. */
  look(): Glance {
    let stat: BigIntStats | undefined
    try {
      stat = statSync(this.path, { bigint: true, throwIfNoEntry: false })
    } catch {
      // It may be there: what is known of it stands until the system lets us look again.
      const changed = this.#readable
      this.#readable = false
      return { identity: this.#identity, readable: false, changed, replaced: false }
    }
    if (stat === undefined || !stat.isDirectory()) return this.#absent()
    const identity = `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`
    const changedMs = Number(stat.mtimeMs)
    const isOther = identity !== this.#identity
    const isTouched = isOther || changedMs !== this.#changedMs
    let changed = isOther
    let replaced = false
    if (isOther) this.known.clear()
    if (isTouched || !this.#readable || this.#listedMs < changedMs + SETTLED_MS) {
      changed = this.#list() || changed
      if (isTouched && !isOther) replaced = this.#isReplaced()
    }
    this.#identity = identity
    this.#changedMs = changedMs
    const tip = this.#lookAtTip()
    if (
      tip?.number !== this.#tip?.number ||
      tip?.size !== this.#tip?.size ||
      tip?.identity !== this.#tip?.identity
    ) {
      this.#tip = tip
      changed = true
    }
    return { identity, readable: this.#readable, changed: changed || replaced, replaced }
  }

  #absent(): Glance {
    const changed = this.#identity !== undefined
    this.#identity = undefined
    this.#readable = false
    this.#listing = NOTHING
    this.#tip = undefined
    this.known.clear()
    return { identity: undefined, readable: false, changed, replaced: false }
  }

  /** Whether the listing came out different. */
  #list(): boolean {
    this.#listedMs = Date.now()
    const listed = listStore(this.path)
    const before = this.#listing
    const wasReadable = this.#readable
    this.#readable = listed.ok
    if (!listed.ok) return wasReadable
    this.#listing = listed.value
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
      const now = identityOf(join(this.path, segmentName(number)))
      if (now !== undefined && now.identity !== identity) return true
    }
    return false
  }

  #lookAtTip(): Tip | undefined {
    const newest = this.#listing.segments.at(-1)
    if (newest === undefined || newest.place !== 'live') return undefined
    const now = identityOf(join(this.path, newest.name))
    return now === undefined ? undefined : { number: newest.number, ...now }
  }
}
