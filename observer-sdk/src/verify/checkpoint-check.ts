/** Checks of checkpoints: each file is what its record says, and it is the state that the records before it make. */
import {
  type CheckpointHeader,
  type CheckpointLine,
  CheckpointReader,
  type CheckpointRef,
  CheckpointRefs,
  checkpointKey,
  checkpointName,
  compareUtf8,
  type Entity,
  entityKey,
  forgetsRevision,
  isKeyForgettable,
  isRegistryGenesis,
  JournalTime,
  type KeyEntry,
  parseCheckpointRef,
  refFault,
  registryCapability,
  registryOfAllCapability,
  SegmentReader,
} from '@kim/manifest'
import { openCheckpoint, openSegment } from '../store/file-content.js'
import type { CheckpointEntry, SegmentEntry } from '../store/listing.js'
import { found, type ReadFailure, type ReadResult } from '../store/read-only-fs.js'
import type { ChainCheck, ProjectIdentity, RedactionCheck } from './chain-checks.js'
import type { ContinuityCheck } from './continuity-check.js'
import type { FindingLocation, FindingLog } from './findings.js'
import { HashedImage, type HashedState } from './hashed-state.js'
import type { BlobCheck } from './line-checks.js'
import type { PassPacer } from './pace.js'
import { type FileDigest, isSameDigest, type RecordEntry } from './walk.js'

/** What a checkpoint file says and whether it hangs together; its entities are not parsed. */
export interface SurveyedCheckpoint extends FileDigest {
  readonly name: string
  /** The number in its name. */
  readonly headSeq: number
  readonly header: CheckpointHeader | undefined
  /** What is wrong with the document, if anything is. */
  readonly fault: string | undefined
}

/** Reads a checkpoint file once, in bounded memory. */
export async function surveyCheckpoint(
  eventsDir: string,
  { headSeq, name }: CheckpointEntry,
  pace: PassPacer,
): Promise<ReadResult<SurveyedCheckpoint>> {
  const reader = new CheckpointReader()
  const passed = await passCheckpoint(eventsDir, headSeq, reader, pace)
  if (!passed.ok) return passed
  if (passed.value !== undefined) return passed.value
  const { header, bytes, sha256 } = reader
  return found({ name, headSeq, header, fault: reader.fault(headSeq), bytes, sha256 })
}

/** Passes a checkpoint file to a reader, in bounded memory; returns why it could not be read to its end, if it could not. */
async function passCheckpoint(
  eventsDir: string,
  headSeq: number,
  reader: CheckpointReader,
  pace: PassPacer,
): Promise<ReadResult<ReadFailure | undefined>> {
  const opened = openCheckpoint(eventsDir, headSeq)
  if (!opened.ok) return opened
  const content = opened.value
  try {
    for (const chunk of content.chunks()) {
      reader.push(chunk)
      pace.advance(chunk.length)
      await pace.turn(chunk.length)
    }
    return found(content.failure)
  } finally {
    content.close()
  }
}

/**
 * Looks ahead for the ref that makes a checkpoint a verified one. Needed only where records are missing, because
 * only there the checkpoint must be trusted before the walk comes to its ref.
 */
export async function isReferenced(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  file: SurveyedCheckpoint,
  pace: PassPacer,
): Promise<boolean> {
  // A segment that is followed by one numbered at or below the head holds nothing above the head.
  const from = segments.findLastIndex(segment => segment.number <= file.headSeq)
  const { header } = file
  if (header === undefined) return false
  for (const segment of segments.slice(Math.max(0, from))) {
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) continue
    const refs = new CheckpointRefs()
    const reader = new SegmentReader(refs)
    try {
      for await (const chunk of opened.value.stream()) {
        reader.push(chunk)
        if (refs.found.some(ref => refFault(ref, { ...file, header }, undefined) === undefined)) return true
        await pace.turn(chunk.length)
      }
    } finally {
      opened.value.close()
    }
  }
  return false
}

/** An idempotency key that a checkpoint should have remembered, if it was young enough when it was written. */
interface MissingKey {
  readonly key: string
  readonly ts: string
}

/** The idempotency keys of the records so far. */
class RememberedKeys {
  readonly #keys = new Map<string, { readonly seq: number; readonly ts: string }>()
  readonly #time = new JournalTime()

  /** The time the journal has come to. */
  get nowMs(): number {
    return this.#time.ms
  }

  /** A record that applies; returns the seq of an earlier one that should have kept it from being appended. */
  record({ seq, record: { key, ts } }: RecordEntry): number | undefined {
    this.#time.see(ts)
    if (key === undefined || ts === undefined) return undefined
    const earlier = this.#keys.get(key)
    if (earlier !== undefined && wasDue({ key, ts: earlier.ts }, this.nowMs)) return earlier.seq
    this.#keys.set(key, { seq, ts })
    return undefined
  }

  /** What a checkpoint says of keys whose records are known, and says wrongly. */
  wrongIn(stated: readonly KeyEntry[], isKnown: (seq: number) => boolean): string[] {
    const wrong: string[] = []
    let last = 0
    for (const [key, seq, ts] of stated) {
      if (seq <= last) wrong.push(`key ${key} is out of order`)
      last = seq
      const known = this.#keys.get(key)
      if (isKnown(seq) && (known?.seq !== seq || ts < known.ts)) wrong.push(`key ${key} is not of seq ${seq}`)
    }
    return wrong
  }

  /** Keys of the records so far that a checkpoint does not have and, by now, should have. */
  missingFrom(stated: readonly KeyEntry[]): MissingKey[] {
    const known = new Set(stated.map(([key]) => key))
    const missing: MissingKey[] = []
    for (const [key, { ts }] of this.#keys) {
      if (!known.has(key) && wasDue({ key, ts }, this.nowMs)) missing.push({ key, ts })
    }
    return missing
  }
}

/**
 * Whether a key had to be remembered still when the journal had come to a later time; where a time cannot be read it
 * had not. A writer may remember it for longer: it counts from the time the journal had come to, which is not before
 * the record's own.
 */
function wasDue({ ts }: MissingKey, laterMs: number): boolean {
  const age = laterMs - Date.parse(ts)
  return Number.isFinite(age) && !isKeyForgettable(age)
}

interface StatedRef extends CheckpointRef {
  readonly seq: number
  /** The time the journal had come to with it. */
  readonly atMs: number
  readonly place: FindingLocation
}

/** An entity whose content the journal no longer has, while the checkpoint still does. */
type StaleContent = Pick<Entity, 'item_type' | 'item_id'>

/** What came of comparing a checkpoint with the journal at its head. */
interface Judged {
  readonly mismatches: readonly string[]
  readonly mismatchCount: number
  readonly stale: readonly StaleContent[]
  readonly missingKeys: readonly MissingKey[]
}

/** What the checkpoint check asks the other checks. */
export interface CheckpointContext {
  readonly eventsDir: string
  readonly log: FindingLog
  readonly state: HashedState
  readonly continuity: ContinuityCheck
  readonly chain: ChainCheck
  readonly redactions: RedactionCheck
  readonly project: ProjectIdentity
  readonly blobs: BlobCheck
  /** Whether a ref with this file's digest stands in the journal after its head; asked before it is trusted. */
  readonly isReferenced: (file: SurveyedCheckpoint) => Promise<boolean>
}

/** Checkpoints: the file is what its ref says, and it is the fold of what it covers. */
export class CheckpointCheck {
  readonly #context: CheckpointContext
  readonly #files: ReadonlyMap<number, SurveyedCheckpoint>
  readonly #refs: StatedRef[] = []
  readonly #judged = new Map<number, Judged | 'unknowable'>()
  readonly #keys = new RememberedKeys()
  readonly #announced = new Set<string>()
  #due: SurveyedCheckpoint | undefined

  constructor(context: CheckpointContext, files: readonly SurveyedCheckpoint[]) {
    this.#context = context
    this.#files = new Map(files.map(file => [file.headSeq, file]))
  }

  /** The checkpoint that covers exactly the records so far, if one does and was not compared yet. */
  get due(): SurveyedCheckpoint | undefined {
    return this.#due
  }

  /** A valid record; `applies` is false where its run never became complete. */
  record(entry: RecordEntry, applies: boolean): void {
    const { record, seq, segment, offset } = entry
    if (applies) {
      const used = this.#keys.record(entry)
      if (used !== undefined)
        this.#context.log.report('schema', entry, `its key was used by seq ${used} already`)
      if (isRegistryGenesis(record)) {
        this.#announced.add(registryCapability)
        if (record.payload?.['mode'] === 'all') this.#announced.add(registryOfAllCapability)
      }
      const ref = record.action === 'checkpoint_ref' ? parseCheckpointRef(record.payload) : undefined
      if (ref !== undefined)
        this.#refs.push({ ...ref, seq, atMs: this.#keys.nowMs, place: { segment, offset, seq } })
    }
    const file = this.#files.get(seq)
    if (file?.header !== undefined && file.header.head_writer === (record.writer ?? null)) this.#due = file
  }

  /** Compares what is due with the state so far. */
  async compareDue(pace: PassPacer): Promise<void> {
    const file = this.#due
    this.#due = undefined
    if (file !== undefined && !this.#judged.has(file.headSeq)) await this.compare(file, pace)
  }

  /** Compares a checkpoint with the state so far, and takes over what only it still knows. */
  async compare(file: SurveyedCheckpoint, pace: PassPacer): Promise<void> {
    const { header } = file
    if (header === undefined) return
    const { state, continuity } = this.#context
    const isComplete = continuity.knowsBetween(state.baseline, file.headSeq + 1)
    if (file.fault !== undefined || (!isComplete && !(await this.#context.isReferenced(file)))) {
      this.#judged.set(file.headSeq, 'unknowable')
      return
    }
    const comparison = new CheckpointComparison(header, this.#context)
    await comparison.run(pace)
    const others = [
      ...this.#keys.wrongIn(header.keys, seq => continuity.has(seq)),
      ...this.#capabilities(file, isComplete),
    ]
    this.#judged.set(file.headSeq, {
      mismatches: [...comparison.mismatches, ...others],
      mismatchCount: comparison.mismatchCount + others.length,
      stale: comparison.stale,
      missingKeys: this.#keys.missingFrom(header.keys),
    })
    if (!isComplete) state.baseline = file.headSeq
  }

  /** Judges every checkpoint file and every ref: refs stand after what they refer to. */
  end(): void {
    for (const file of this.#files.values()) this.#file(file)
    const present = new Set([...this.#files.values()].map(file => file.name))
    for (const ref of this.#refs) if (!present.has(ref.file)) this.#absent(ref)
  }

  #file(file: SurveyedCheckpoint): void {
    const { log, project } = this.#context
    const place = { seq: file.headSeq }
    const refs = this.#refs.filter(ref => ref.file === file.name && ref.seq > file.headSeq)
    if (refs.length === 0) {
      this.#orphan(file)
      return
    }
    const ref = refs.findLast(stated => isSameDigest(stated, file))
    const corrupt = (detail: string): void =>
      log.report('checkpoint_corrupt', place, `${file.name}: ${detail}`)
    if (ref === undefined) corrupt(`${file.bytes} bytes ${file.sha256}, not those that its record names`)
    else if (file.header === undefined || file.fault !== undefined) corrupt(file.fault ?? 'no header')
    else {
      const fault = refFault({ ref, seq: ref.seq }, { ...file, header: file.header }, project.id)
      if (fault === undefined) this.#referenced(file, ref)
      else if (fault === 'count')
        corrupt(`it has another number of entities than its record, ${ref.entities}`)
      else
        corrupt(
          fault === 'project'
            ? `it is of project ${file.header.project_id}, the journal of another`
            : `its record is about another file, with head ${ref.head_seq}`,
        )
    }
  }

  /**
   * A crash leaves a checkpoint without its ref, but never one without what it covers: it is written after that is
   * sealed. So a head that the journal has not come to, or that another writer wrote, says that records are gone.
   */
  #orphan({ name, headSeq, header, fault }: SurveyedCheckpoint): void {
    const { log, project, continuity } = this.#context
    const place = { seq: headSeq }
    const isOwn = header !== undefined && fault === undefined && header.project_id === project.id
    if (isOwn && headSeq > continuity.head) {
      const { head } = continuity
      log.report(
        'seq_hole',
        { seq: head + 1 },
        `${name} covers up to seq ${headSeq}, the journal ends at ${head}`,
      )
    } else if (isOwn && continuity.has(headSeq) && !this.#judged.has(headSeq)) {
      log.report('checkpoint_mismatch', place, `${name}: no record has the seq of its head`)
    } else log.report('checkpoint_orphan', place, `no record names ${name}`)
  }

  #referenced(file: SurveyedCheckpoint, ref: StatedRef): void {
    const { log, continuity, redactions } = this.#context
    const place = { seq: file.headSeq }
    const differ = (detail: string): void =>
      log.report('checkpoint_mismatch', place, `${file.name}: ${detail}`)
    const judged = this.#judged.get(file.headSeq)
    if (judged === 'unknowable') return
    if (judged === undefined) {
      if (continuity.has(file.headSeq)) differ('no record has the seq of its head')
      return
    }
    for (const detail of judged.mismatches) differ(detail)
    for (let more = judged.mismatches.length; more < judged.mismatchCount; more += 1)
      differ('further differences')
    for (const { item_type: type, item_id: id } of judged.stale) {
      const detail = `${type} ${id} was redacted in the journal`
      if ((redactions.redactedAt(type, id) ?? 0) > ref.seq) {
        log.report('redaction_pending', place, `${file.name}: ${detail}`)
      } else differ(detail)
    }
    for (const missing of judged.missingKeys)
      if (wasDue(missing, ref.atMs)) differ(`key ${missing.key} is not in it`)
    this.#chained(file, differ)
  }

  #chained({ header, headSeq }: SurveyedCheckpoint, differ: (detail: string) => void): void {
    const { chain } = this.#context
    const last = chain.endingWith(headSeq)
    if (header === undefined || last === undefined) return
    if (header.chain.segment !== last.name)
      differ(`it names ${header.chain.segment} as its last, not ${last.name}`)
    else if (
      last.isWhole &&
      !chain.digestsOf(last.name).some(({ sha256 }) => sha256 === header.chain.sha256)
    ) {
      differ(`it names another hash of ${last.name}`)
    }
  }

  #capabilities({ header }: SurveyedCheckpoint, isComplete: boolean): string[] {
    const stated = header?.capabilities ?? []
    for (const capability of [registryCapability, registryOfAllCapability]) {
      if (!isComplete && stated.includes(capability)) this.#announced.add(capability)
    }
    const expected = [...this.#announced].sort()
    // Writers before the second capability stated the first alone.
    const older = expected.filter(capability => capability !== registryOfAllCapability)
    const said = JSON.stringify(stated)
    if (said === JSON.stringify(expected) || said === JSON.stringify(older)) return []
    return [`it has capabilities ${JSON.stringify(stated)}, the journal has ${JSON.stringify(expected)}`]
  }

  /** A checkpoint may go only where a redaction or a repair took it away; without it nothing is lost. */
  #absent(ref: StatedRef): void {
    const { eventsDir, log, redactions } = this.#context
    if (ref.file !== checkpointName(ref.head_seq) || redactions.newest > ref.seq) return
    const opened = openCheckpoint(eventsDir, ref.head_seq)
    if (opened.ok) opened.value.close()
    else if (opened.reason === 'absent') log.report('checkpoint_absent', ref.place, `${ref.file} is missing`)
  }
}

const detailsMax = 10

/**
 * Compares a checkpoint with the state that the available records make, entity by entity. Where records are
 * missing the checkpoint speaks for them: what it says of those is taken over, the rest must agree.
 */
class CheckpointComparison {
  readonly #history: CheckpointContext
  readonly #header: CheckpointHeader
  readonly #isComplete: boolean
  /** Entities whose content only the checkpoint still has. */
  readonly stale: StaleContent[] = []
  /** The first differences, and how many there are. */
  readonly mismatches: string[] = []
  mismatchCount = 0
  readonly #met = new Set<HashedImage>()
  #lastKey: string | undefined

  constructor(header: CheckpointHeader, history: CheckpointContext) {
    this.#header = header
    this.#history = history
    this.#isComplete = history.continuity.knowsBetween(history.state.baseline, header.head_seq + 1)
  }

  /** Reads the checkpoint once and leaves the state as it is at its head. */
  async run(pace: PassPacer): Promise<void> {
    const { eventsDir } = this.#history
    const reader = new CheckpointReader(line => this.#line(line))
    if (!(await passCheckpoint(eventsDir, this.#header.head_seq, reader, pace)).ok) return
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
    const { blobs, state } = this.#history
    this.#met.add(state.adopt(entity))
    if (entity.payload_ref !== undefined) blobs.ref(entity.payload_ref, { seq: entity.seq })
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
