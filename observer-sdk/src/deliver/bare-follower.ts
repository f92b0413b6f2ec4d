import { KimError } from '@kim/manifest'
import { type BytePosition, isSamePlace } from '../tail/byte-position.js'
import type { Batch, Ground, News, RecordSource } from '../tail/source.js'
import type { Followed } from './hand-over.js'
import { inSlices } from './slices.js'

/** Follows a journal without a state: it knows where the end was, and when places have lost their meaning. */
export class BareFollower implements Followed {
  readonly source: RecordSource
  readonly latest: undefined
  readonly #onChange: () => void
  readonly #onBug: (bug: unknown) => void
  #ground: Ground | undefined
  #projectId: string | undefined
  #exists = false
  #epoch = 0
  #isBusy = false
  #isClosed = false

  constructor(source: RecordSource, onChange: () => void, onBug: (bug: unknown) => void) {
    this.source = source
    this.#onChange = onChange
    this.#onBug = onBug
  }

  get exists(): boolean {
    return this.#exists
  }

  get epoch(): number {
    return this.#epoch
  }

  get snapshot(): Followed['snapshot'] {
    if (this.#ground === undefined) throw new KimError('internal', 'the tail was not opened')
    return { ...this.#ground, checkpointSeq: 0 }
  }

  get head(): Ground['head'] {
    return this.snapshot.head
  }

  headAt({ passed, to }: Batch): Ground['head'] | undefined {
    return passed ?? (isSamePlace(to, this.snapshot.end) ? this.head : undefined)
  }

  /** The ground is looked for anew. */
  get isMoving(): boolean {
    return this.#isBusy
  }

  /** Nothing is read here, so nobody is ever level with it, or ahead. */
  readonly isReading = false

  isLevelAt(_position: BytePosition): boolean {
    return false
  }

  reach(_to: BytePosition): boolean {
    return true
  }

  /** The id that the journal states. */
  get projectId(): string | undefined {
    return this.#projectId
  }

  /** Looks at the end. `seq`: what somebody has come to, who is to be told if the journal does not reach it. */
  async open(seq: number): Promise<void> {
    const found = await inSlices(this.source.ground(seq), () => this.#isClosed)
    if (found === undefined) return
    this.#ground = found.ground
    this.#projectId = found.projectId
    this.#exists = this.source.look().exists
    this.#epoch++
  }

  close(): void {
    this.#isClosed = true
  }

  onNews({ exists, lost }: News): void {
    if (lost !== undefined || exists !== this.#exists) this.#anew()
    else this.#onChange()
  }

  onLost(_reason: NonNullable<Batch['lost']>): void {
    this.#anew()
  }

  #anew(): void {
    if (this.#isBusy || this.#isClosed) return
    this.#isBusy = true
    // Whatever anybody has come to may lie above what stands there now.
    this.open(Number.MAX_SAFE_INTEGER).then(
      () => {
        this.#isBusy = false
        // What came while it was looked for may have been looked at already, so that no look to come finds it new.
        if (!this.#isClosed) this.onNews(this.source.look())
      },
      (bug: unknown) => this.#onBug(bug),
    )
  }
}
