import {
  type CheckpointHeader,
  type CheckpointLine,
  CheckpointReader,
  checkpointKey,
  compareUtf8,
  type Entity,
  entityKey,
  forgetsRevision,
} from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { ContinuityCheck } from './continuity-check.js'
import { HashedImage, type HashedState } from './hashed-state.js'
import type { PassPacer } from './pace.js'

/** An entity whose content the journal no longer has, while the checkpoint still does. */
export interface StaleContent {
  readonly item_type: string
  readonly item_id: string
}

/** What a comparison needs to know of the journal up to the checkpoint's head. */
export interface CoveredHistory {
  readonly eventsDir: string
  readonly state: HashedState
  readonly continuity: ContinuityCheck
  /** Seq up to which the state is complete already. */
  readonly since: number
  /** Called for every entity that is taken over because its record is not available. */
  readonly onAdopted: (entity: Entity) => void
}

const detailsMax = 10

/**
 * Compares a checkpoint with the state that the available records make, entity by entity. Where records are
 * missing the checkpoint speaks for them: what it says of those is taken over, the rest must agree.
 */
export class CheckpointComparison {
  readonly #history: CoveredHistory
  readonly #header: CheckpointHeader
  readonly #isComplete: boolean
  /** Entities whose content only the checkpoint still has. */
  readonly stale: StaleContent[] = []
  /** The first differences, and how many there are. */
  readonly mismatches: string[] = []
  mismatchCount = 0
  readonly #met = new Set<HashedImage>()
  #lastKey: string | undefined

  constructor(header: CheckpointHeader, history: CoveredHistory) {
    this.#header = header
    this.#history = history
    this.#isComplete = history.continuity.knowsBetween(history.since, header.head_seq + 1)
  }

  /** Reads the checkpoint once and leaves the state as it is at its head. */
  async run(pace: PassPacer): Promise<void> {
    const opened = openCheckpoint(this.#history.eventsDir, this.#header.head_seq)
    if (!opened.ok) return
    const reader = new CheckpointReader(line => this.#line(line))
    try {
      for (const chunk of opened.value.chunks()) {
        reader.push(chunk)
        pace.advance(chunk.length)
        await pace.turn(chunk.length)
      }
    } finally {
      opened.value.close()
    }
    this.#unmet()
    this.#revisions()
  }

  #line(line: CheckpointLine): void {
    const entity = line.entity()
    if (entity === undefined) this.#differ(`a line is not an entity: ${line.text.slice(0, 80)}`)
    else {
      this.#order(entity)
      this.#entity(entity)
    }
  }

  #order({ item_type: type, item_id: id }: Entity): void {
    const key = checkpointKey(type, id)
    if (this.#lastKey !== undefined && compareUtf8(this.#lastKey, key) > 0)
      this.#differ(`${type} ${id} is out of order`)
    this.#lastKey = key
  }

  #entity(entity: Entity): void {
    const { item_type: type, item_id: id } = entity
    const image = this.#history.state.get(type, id)
    if (image !== undefined && this.#met.has(image)) this.#differ(`${type} ${id} occurs twice`)
    else if (image?.seq === entity.seq) this.#image(entity, image)
    else if (this.#history.continuity.has(entity.seq)) {
      const known = image === undefined ? 'is not live' : `is at seq ${image.seq}`
      this.#differ(`${type} ${id} of seq ${entity.seq} ${known} in the journal`)
      if (image !== undefined) this.#met.add(image)
    } else this.#adopt(entity)
  }

  #image(entity: Entity, image: HashedImage): void {
    const { item_type, item_id } = entity
    this.#met.add(image)
    const stated = new HashedImage(entity, 0)
    const isSameState =
      stated.rev === image.rev &&
      stated.agent === image.agent &&
      stated.ts === image.ts &&
      stated.ref?.bytes === image.ref?.bytes
    if (isSameState && stated.hash === image.hash) return
    if (image.redacted && !stated.redacted) this.stale.push({ item_type, item_id })
    else this.#differ(`${item_type} ${item_id} of seq ${entity.seq} has other content in the journal`)
  }

  #adopt(entity: Entity): void {
    this.#met.add(this.#history.state.adopt(entity))
    this.#history.onAdopted(entity)
  }

  /** Live entities that the checkpoint does not have: deleted where records are missing, or wrongly left out. */
  #unmet(): void {
    if (this.#met.size === this.#history.state.size) return
    for (const { item_type, item_id, image } of [...this.#history.state.entities()]) {
      if (this.#met.has(image)) continue
      if (this.#history.continuity.knowsBetween(image.seq, this.#header.head_seq + 1)) {
        this.#differ(`${item_type} ${item_id} of seq ${image.seq} is not in it`)
      } else this.#history.state.drop(item_type, item_id)
    }
  }

  #revisions(): void {
    const { state } = this.#history
    const seq = this.#header.head_seq
    const stated = new Set<string>()
    for (const [item_type, item_id, entity_rev] of this.#header.revisions) {
      stated.add(entityKey(item_type, item_id))
      const removal = state.removal(item_type, item_id)
      if (removal?.rev === entity_rev) continue
      if (this.#isComplete)
        this.#differ(
          `it has revision ${entity_rev} of the removed ${item_type} ${item_id}; the journal has ${removal?.rev ?? 'none'}`,
        )
      else if (state.get(item_type, item_id) === undefined)
        state.adoptRemoval({ item_type, item_id, seq, rev: entity_rev })
    }
    if (!this.#isComplete) return
    for (const { item_type, item_id, rev } of state.removals()) {
      if (rev === undefined || forgetsRevision(item_type)) continue
      if (!stated.has(entityKey(item_type, item_id))) this.#differ(`no revision of ${item_type} ${item_id}`)
    }
  }

  #differ(detail: string): void {
    this.mismatchCount += 1
    if (this.mismatches.length < detailsMax) this.mismatches.push(detail)
  }
}
