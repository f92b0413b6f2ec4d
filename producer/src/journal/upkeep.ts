import { basename } from 'node:path'
import { invariant, KimError, runAtOnce, type Slices } from '@kim/manifest'
import type { Appender } from './append.js'
import {
  type Boundary,
  type BuiltCheckpoint,
  buildCheckpoint,
  type VerifiedCheckpoint,
} from './checkpoint.js'
import { isDamaged, isNoSpace } from './failure.js'
import { type GcReport, planGc, runGc } from './gc.js'
import { checkpointRef } from './notes.js'
import type { JournalState } from './state.js'
import type { Store } from './store.js'

/** A full disk is given this long before a checkpoint is tried again. */
const RETRY_MS = 30_000
/** So many segments may wait for a checkpoint that is not begun. */
const BEHIND_SEGMENTS = 2

/** What upkeep works on. */
export interface UpkeepStart {
  readonly store: Store
  readonly appender: Appender
  readonly state: JournalState
  readonly projectId: string
  /** The checkpoint that the journal was opened from. */
  readonly base: VerifiedCheckpoint | undefined
  /** False if the history before the first segment is missing: then no checkpoint could be complete. */
  readonly isHistoryWhole: boolean
  /** True if gc runs only when somebody asks for it. */
  readonly isGcHeld: boolean
  /** True to compress what gc parks. */
  readonly gzip: boolean
}

/**
 * What follows a roll, off the append path: a checkpoint of what was sealed, then gc. It is done in slices, one
 * a call, and begun again from the disk after a crash.
 */
export class Upkeep {
  readonly #start: UpkeepStart
  readonly #known: Set<number> = new Set()
  /** The newest verified checkpoint. */
  base: VerifiedCheckpoint | undefined
  #boundary: Boundary | undefined
  #work: Slices<unknown> | undefined
  #gcDue = false
  /** How many segments were sealed since the checkpoint was begun that is under way, or was the last. */
  #waiting = 0
  #isHeld = false
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(start: UpkeepStart) {
    this.#start = start
    this.base = start.base
    if (start.base !== undefined) this.#known.add(start.base.header.head_seq)
    this.#gcDue = !start.isGcHeld && start.base !== undefined
  }

  /** True if there is something to do now. */
  get isDue(): boolean {
    if (this.#work !== undefined) return true
    if (this.#boundary === undefined && !this.#gcDue) return false
    return this.#start.store.clock.monoMs() >= this.#notBeforeMs
  }

  /** True while segments are sealed faster than checkpoints cover them: the next one has all of that to hold at once. */
  get isBehind(): boolean {
    return this.#boundary !== undefined && this.#waiting >= BEHIND_SEGMENTS
  }

  /** A segment was sealed; only the newest one matters. */
  sealed(boundary: Boundary): void {
    if (!this.#start.isHistoryWhole || this.#isHeld) return
    this.#boundary = boundary
    this.#waiting += 1
  }

  /** Does nothing more until the next open. */
  hold(): void {
    this.abandon()
    this.#isHeld = true
    this.#boundary = undefined
    this.#gcDue = false
  }

  /** Does one slice. Returns true if there is more to do now. */
  step(): boolean {
    const { appender } = this.#start
    if (!this.isDue || !appender.isSettled) return false
    this.#work ??= this.#next()
    try {
      const work = this.#work
      if (appender.guard(() => work.next()).done === true) this.#work = undefined
    } catch (error) {
      this.#work = undefined
      this.#putOff(error)
      return false
    }
    return this.isDue
  }

  /** What an append need not hear of: it can be done later, or not at all. */
  #putOff(error: unknown): void {
    const { store } = this.#start
    const isLast = error instanceof KimError && error.code === 'seq_exhausted'
    if (isLast) this.#boundary = undefined
    else if (isNoSpace(error)) this.#notBeforeMs = store.clock.monoMs() + RETRY_MS
    else throw error
    const { message, hint } = error as KimError
    store.log({ level: 'warn', code: 'checkpoint_put_off', message, hint })
  }

  /** Does everything that is due, now. */
  finish(): void {
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
    while (this.step()) {
      // one slice after the other
    }
  }

  /** Gives up what is under way; the next open starts it from the beginning. */
  abandon(): void {
    this.#work?.return(undefined)
    this.#work = undefined
  }

  #next(): Slices<unknown> {
    if (this.#boundary !== undefined) return this.#checkpoint(this.#boundary)
    this.#gcDue = false
    return this.#collect()
  }

  *#checkpoint(boundary: Boundary): Slices<void> {
    this.#waiting = 0
    const { store, state, projectId, isGcHeld } = this.#start
    const base = this.base
    if (base !== undefined && base.header.head_seq >= boundary.head_seq) {
      this.#boundary = undefined
      return
    }
    let built: BuiltCheckpoint
    try {
      built = yield* buildCheckpoint(store, state, { boundary, projectId, base })
    } catch (error) {
      if (!isDamaged(error)) throw error
      // No checkpoint is better than a wrong one: readers go on with the one before.
      this.#boundary = undefined
      const { message, hint } = error
      store.log({ level: 'error', code: 'checkpoint_not_built', message, hint })
      return
    }
    this.vouch(built)
    if (this.#boundary === boundary) this.#boundary = undefined
    this.#gcDue = !isGcHeld
  }

  /** Appends the ref that makes a checkpoint count, and goes on from it. */
  vouch(built: BuiltCheckpoint): void {
    const { appender, state } = this.#start
    const { path, header, ref } = built
    const [refSeq] = appender.appendOne([checkpointRef(ref)]).seqs
    invariant(refSeq !== undefined, 'a ref that was appended has a number')
    built.adopt()
    this.base = { refSeq, path, header }
    this.#known.add(header.head_seq)
    state.removed.forget(header.head_seq)
  }

  *#collect(): Slices<GcReport> {
    const { store, projectId, gzip } = this.#start
    return yield* runGc(store, yield* planGc(store, projectId, this.#known), gzip)
  }

  /** Collects now, also while gc is held. */
  collect(): GcReport {
    // What is under way planned with files that are about to move.
    this.abandon()
    return runAtOnce(this.#collect())
  }

  /** What a gc would park now. */
  plan(): GcReport {
    const { store, projectId } = this.#start
    const { segments, checkpoints } = runAtOnce(planGc(store, projectId, this.#known))
    const name = ({ path }: { readonly path: string }): string => basename(path)
    return { segments: segments.map(name), checkpoints: checkpoints.map(name) }
  }
}
