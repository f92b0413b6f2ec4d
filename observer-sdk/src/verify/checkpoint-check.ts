import {
  type CheckpointRef,
  checkpointName,
  isRegistryGenesis,
  parseCheckpointRef,
  refFault,
  registryCapability,
  registryOfAllCapability,
} from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import type { Baseline } from './baseline.js'
import type { BlobCheck } from './blob-check.js'
import type { ChainCheck } from './chain-check.js'
import { CheckpointComparison, type StaleContent } from './checkpoint-compare.js'
import type { SurveyedCheckpoint } from './checkpoint-file.js'
import type { ContinuityCheck } from './continuity-check.js'
import type { RecordEntry } from './entry.js'
import { isSameDigest } from './file-digest.js'
import type { FindingLocation, FindingLog } from './findings.js'
import type { HashedState } from './hashed-state.js'
import type { PassPacer } from './pace.js'
import type { ProjectIdentity } from './project-identity.js'
import type { RedactionCheck } from './redaction-check.js'
import { type MissingKey, RememberedKeys, wasDue } from './remembered-keys.js'

interface StatedRef extends CheckpointRef {
  readonly seq: number
  /** The time the journal had come to with it. */
  readonly atMs: number
  readonly place: FindingLocation
}

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
  readonly baseline: Baseline
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
    const { baseline, continuity } = this.#context
    const isComplete = continuity.knowsBetween(baseline.seq, file.headSeq + 1)
    if (file.fault !== undefined || (!isComplete && !(await this.#context.isReferenced(file)))) {
      this.#judged.set(file.headSeq, 'unknowable')
      return
    }
    const comparison = new CheckpointComparison(header, {
      ...this.#context,
      since: baseline.seq,
      onAdopted: entity => {
        if (entity.payload_ref !== undefined) this.#context.blobs.ref(entity.payload_ref, { seq: entity.seq })
      },
    })
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
    if (!isComplete) baseline.seq = file.headSeq
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
    if (ref === undefined) corrupt(`${file.bytes} bytes ${file.sha256}, not what its ref says`)
    else if (file.header === undefined || file.fault !== undefined) corrupt(file.fault ?? 'no header')
    else {
      const fault = refFault({ ref, seq: ref.seq }, { ...file, header: file.header }, project.id)
      if (fault === undefined) this.#referenced(file, ref)
      else if (fault === 'count') corrupt(`its ref says ${ref.entities} entities`)
      else
        corrupt(
          fault === 'project' ? `of project ${file.header.project_id}` : `its ref says head ${ref.head_seq}`,
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
    } else log.report('checkpoint_orphan', place, `${name} has no ref`)
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
    return [`capabilities ${JSON.stringify(stated)}, ${JSON.stringify(expected)} in the journal`]
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
