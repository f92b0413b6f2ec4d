/** The state of an observer: its live entities, which a cold start folded and which records have changed since. */
import {
  type Effect,
  type Entity,
  type EntityTable,
  type Fold,
  type FoldedRecord,
  type JsonObject,
  type PayloadRef,
  parsePayload,
  payloadHash,
  projectionDigest,
  type ReadRecord,
} from '@kim/manifest'
import type { BlobMismatch } from '../store/blobs.js'
import type { ReadResult } from '../store/read-only-fs.js'
import type { Flaw, FoldedLines, Image, StoredLines } from '../tail/stored-image.js'

/** The live entities, to be read. */
export interface StateView {
  /** How many there are. */
  readonly size: number
  /** One entity; reading its payload is what parses it. */
  get(itemType: string, itemId: string): EntityView | undefined
  /** All entities, or those of one type. */
  values(itemType?: string): IterableIterator<EntityView>
}

/** What the state asks of its surroundings. */
export interface StateNeeds {
  /** Reads the payload that a reference names. */
  readonly blob: (ref: PayloadRef) => ReadResult<Buffer> | BlobMismatch
  /** A blob could not be had; reported once per image. */
  readonly onBlob: (kind: 'blob_missing' | 'blob_mismatch') => void
  /** Lines turned out not to be what they seemed: returns the fold of the same place with their segments parsed. */
  readonly onFlaws: (flaws: readonly Flaw[]) => FoldedLines
}

/** How many removed entities are remembered, for their revisions. */
const REMOVED_MAX = 50_000

/** The state of one observer. */
export class State implements StateView {
  readonly #needs: StateNeeds
  #folded: FoldedLines
  readonly #missed = new Set<string>()
  #removed = 0
  readonly #atOpen: number

  constructor(folded: FoldedLines, needs: StateNeeds) {
    this.#folded = folded
    this.#needs = needs
    this.#atOpen = folded.fold.entities.slotCount
  }

  /** What records are folded into. It is another one once a line turned out not to be what it seemed. */
  get fold(): Fold<Image> {
    return this.#folded.fold
  }

  get size(): number {
    return this.fold.entities.size
  }

  /** How many are live, by item type. */
  get counts(): ReadonlyMap<string, number> {
    return this.fold.entities.counts
  }

  get(itemType: string, itemId: string): EntityView | undefined {
    const { entities } = this.fold
    const slot = entities.slotOf(itemType, itemId)
    return slot < 0 || entities.imageAt(slot) === undefined
      ? undefined
      : new ImageView(this.#folded, slot, this)
  }

  *values(itemType?: string): IterableIterator<EntityView> {
    yield* this.startingWith('', itemType)
  }

  /** Those whose id begins so: no name is made of the others. */
  *startingWith(prefix: string, itemType?: string): IterableIterator<EntityView> {
    // The slots are of this table: where a payload that is read on the way shows a flaw, there is another one.
    const folded = this.#folded
    for (const slot of folded.fold.entities.slots(itemType, prefix)) yield new ImageView(folded, slot, this)
  }

  /** Gives the record of a line its effect. */
  apply(record: ReadRecord, effect: Effect, line: { readonly image: Image }): void {
    this.fold.apply(record, effect, () => line.image)
    if (effect !== 'remove') return
    this.#removed += 1
    if (this.#removed <= REMOVED_MAX) return
    // What was there at the open stays known: there are only so many of those.
    this.fold.entities.forgetRemoved(this.#atOpen)
    this.#removed = 0
  }

  /** The projection digest: parses every payload. */
  digest(): string {
    this.#heal()
    const { lines } = this.#folded
    const live = [...this.fold.entities.entries()].flatMap(({ item_type, item_id, image }) => {
      const entity = lines.entityOf(image, item_type, item_id)
      if (entity === undefined) return []
      const { entity_rev, payload, payload_ref } = entity
      return { item_type, item_id, entity_rev, hash: payload_ref?.sha256 ?? payloadHash(payload ?? {}) }
    })
    return projectionDigest(live)
  }

  /** Until every image is what it seemed: the older image of an entity takes the place of one that is not. */
  #heal(): void {
    for (;;) {
      const flaws: Flaw[] = []
      const { fold, lines } = this.#folded
      for (const { item_type, item_id, image } of fold.entities.entries()) {
        const flaw = lines.flawOf(image, item_type, item_id)
        if (flaw !== undefined) flaws.push(flaw)
      }
      if (flaws.length === 0) return
      this.#folded = this.#needs.onFlaws(flaws)
    }
  }

  /** The entity that takes the place of one whose line turned out not to be what it seemed. */
  heal(image: Image, itemType: string, itemId: string): Entity | undefined {
    if (this.fold.entities.get(itemType, itemId) === image) this.#heal()
    const { fold, lines } = this.#folded
    const healed = fold.entities.get(itemType, itemId)
    return healed === undefined ? undefined : lines.entityOf(healed, itemType, itemId)
  }

  /** The payload of an entity whose payload is in a blob. */
  blob({ item_id, item_type, seq }: Entity, ref: PayloadRef): JsonObject | undefined {
    const read = this.#needs.blob(ref)
    if (read.ok) return parsePayload(read.value.toString('utf8'))
    const image = JSON.stringify([item_type, item_id, seq])
    if (!this.#missed.has(image))
      this.#needs.onBlob(read.reason === 'mismatch' ? 'blob_mismatch' : 'blob_missing')
    this.#missed.add(image)
    return undefined
  }
}

/** A live entity. Reading `payload` is what parses it; a large one is read from its blob then. */
export interface EntityView {
  readonly itemType: string
  readonly itemId: string
  /** Absent if the journal does not state it. */
  readonly entityRev: number | undefined
  readonly seq: number | undefined
  readonly ts: string | undefined
  readonly agent: string | undefined
  /** The full state; `undefined` if it is in a blob that is missing or damaged. */
  readonly payload: JsonObject | undefined
  /** The blob that is missing or is not what the record says. */
  readonly unavailable: PayloadRef | undefined
}

/** An entity as of the moment it was asked for; its line is parsed when a member is read that needs it. */
class ImageView implements EntityView {
  readonly #entities: EntityTable<Image>
  readonly #lines: StoredLines
  readonly #slot: number
  readonly #image: Image
  readonly #state: State
  #payload: JsonObject | undefined
  #blob: JsonObject | undefined
  /** The whole image, once more than the payload was asked for. */
  #entity: Entity | 'none' | undefined

  /** The slot must hold a live entity. */
  constructor({ fold, lines }: FoldedLines, slot: number, state: State) {
    this.#entities = fold.entities
    this.#lines = lines
    this.#slot = slot
    this.#image = fold.entities.imageAt(slot) as Image
    this.#state = state
  }

  get itemType(): string {
    return this.#isPresent ? this.#entities.typeAt(this.#slot) : (this.#read()?.item_type ?? '')
  }

  get itemId(): string {
    return this.#isPresent ? this.#entities.idAt(this.#slot) : (this.#read()?.item_id ?? '')
  }

  get entityRev(): number | undefined {
    return this.#read()?.entity_rev
  }

  get seq(): number | undefined {
    return this.#read()?.seq
  }

  get ts(): string | undefined {
    return this.#read()?.ts
  }

  get agent(): string | undefined {
    return this.#read()?.agent
  }

  get payload(): JsonObject | undefined {
    if (this.#entity === undefined) this.#payload ??= this.#lines.payloadOf(this.#image)
    if (this.#payload !== undefined) return this.#payload
    const entity = this.#read()
    if (entity?.payload_ref === undefined) return entity?.payload
    this.#blob ??= this.#state.blob(entity, entity.payload_ref)
    return this.#blob
  }

  get unavailable(): PayloadRef | undefined {
    return this.payload === undefined ? this.#read()?.payload_ref : undefined
  }

  /** Whether the slot still holds this image: its names are there then. */
  get #isPresent(): boolean {
    return this.#entities.imageAt(this.#slot) === this.#image
  }

  #read(): Entity | undefined {
    this.#entity ??= this.#parse() ?? 'none'
    return this.#entity === 'none' ? undefined : this.#entity
  }

  #parse(): Entity | undefined {
    // Once the slot has another image, its names may be another entity's.
    if (!this.#isPresent) return this.#lines.entityOf(this.#image)
    const itemType = this.#entities.typeAt(this.#slot)
    const itemId = this.#entities.idAt(this.#slot)
    return (
      this.#lines.entityOf(this.#image, itemType, itemId) ?? this.#state.heal(this.#image, itemType, itemId)
    )
  }
}

/** Records that are remembered, to tell a repeat from one that comes late. */
const REMEMBERED_MAX = 10_000

/** The newest records, in columns of a ring: no observer makes an object for each record. */
export class RecentRecords {
  readonly #seqs: number[] = []
  readonly #writers: (string | undefined)[] = []
  readonly #types: string[] = []
  readonly #ids: (string | undefined)[] = []
  readonly #revisions: (number | undefined)[] = []
  #at = 0
  #highest = 0

  /** Takes the next record. Returns what it repeats of the newest ones, if it has the seq of one of them. */
  see(record: FoldedRecord): Repeat | undefined {
    const repeat = record.seq <= this.#highest ? this.#judge(record) : undefined
    const at = this.#at
    this.#seqs[at] = record.seq
    this.#writers[at] = record.writer
    this.#types[at] = record.item_type
    this.#ids[at] = record.item_id
    this.#revisions[at] = record.entity_rev
    this.#at = (at + 1) % REMEMBERED_MAX
    this.#highest = Math.max(this.#highest, record.seq)
    return repeat
  }

  #judge({ seq, writer, item_type, item_id, entity_rev }: FoldedRecord): Repeat | undefined {
    let repeat: Repeat | undefined
    for (let at = this.#seqs.indexOf(seq); at !== -1; at = this.#seqs.indexOf(seq, at + 1)) {
      if (this.#writers[at] === writer) return 'duplicate_same_writer'
      const isSame =
        item_id !== undefined &&
        entity_rev !== undefined &&
        this.#revisions[at] === entity_rev &&
        this.#ids[at] === item_id &&
        this.#types[at] === item_type
      if (isSame) repeat = 'duplicate_overwrite'
      else repeat ??= 'duplicate_other_writer'
    }
    return repeat
  }
}

/** What a record repeats. */
type Repeat = 'duplicate_same_writer' | 'duplicate_other_writer' | 'duplicate_overwrite'
