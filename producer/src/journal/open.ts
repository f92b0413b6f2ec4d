import { join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import {
  Continuity,
  invariant,
  isSeq,
  type KimError,
  type ReadRecord,
  type SeqRange,
  segmentName,
} from '@kim/manifest'
import type { HeldLock } from '../effects/store-lock.js'
import { ActiveSegment } from './active-segment.js'
import { Appender } from './append.js'
import { type Boundary, takeBoundary } from './boundary.js'
import { CheckpointJudge, type LoadedCheckpoint, loadNewest } from './checkpoint-file.js'
import type { Draft } from './draft.js'
import { damaged, failure, isNoSpace } from './failure.js'
import { listCheckpoints, listSegments, listTemps, type SegmentSource, segmentChunks } from './listing.js'
import { inboxProgressOf, LostMail } from './lost-mail.js'
import { nextSeqByMeta, projectInMeta, tellOfEarlier } from './meta.js'
import { isNote, journalNote } from './notes.js'
import { Recovery } from './recover.js'
import { readSeal, sealNote, sealOfScan } from './seal.js'
import { projectOf, readSegmentHead } from './segment-head.js'
import { SegmentScan } from './segment-scan.js'
import { canonicalSource, checkSource } from './source.js'
import { JournalState } from './state.js'
import type { Store } from './store.js'
import { newWriterId } from './writer-id.js'

/** What of the journal's history is there. */
export interface OpenHistory {
  /** False where records before `from` are gone and no checkpoint covers them: state is incomplete. */
  readonly isWhole: boolean
  /** The number that the available history begins with. */
  readonly from: number
  /** Numbers without a record in what was read: signs that records were lost, whether or not a note says so. */
  readonly holes: readonly SeqRange[]
}

/** A store that may be appended to. */
export interface Opened {
  readonly appender: Appender
  readonly state: JournalState
  readonly projectId: string
  readonly base: LoadedCheckpoint['checkpoint'] | undefined
  /** The end of the last sealed segment, if no verified checkpoint covers it. */
  readonly boundary: Boundary | undefined
  readonly history: OpenHistory
  /** The redaction notes that stand after the newest verified checkpoint's records. */
  readonly redactions: readonly ReadRecord[]
  /** True where the newest segment has lost the record it began with: a repair has to go on in a new one. */
  readonly isHurt: boolean
}

/** Opens a store under its lock: what a crash left is found out and finished, what is there is never changed. */
export function openStore(store: Store, lock: HeldLock, source: string | undefined, mends = false): Opened {
  for (const path of listTemps(store)) store.disk.removeNow(path)
  const segments = listSegments(store)
  const newest = segments.at(-1)
  if (newest === undefined) return createJournal(store, lock, source)
  if (newest.isArchived) throw damaged(`the newest segment, ${newest.path}, is only in the archive`)
  return new Opening(store, lock, segments, newest, source, mends).run()
}

/** The first record of a journal. */
function genesis(store: Store, projectId: string, source: string): Draft {
  const created = new Date(store.clock.wallMs()).toISOString()
  return journalNote(
    'genesis',
    { project_id: projectId, source: canonicalSource(source), created },
    'a new journal',
  )
}

function needSource(store: Store, source: string | undefined): string {
  if (source !== undefined) return source
  throw failure(
    'no_store',
    `there is no journal in ${store.paths.root}`,
    'nothing was created; check the path',
  )
}

function createJournal(store: Store, lock: HeldLock, given: string | undefined): Opened {
  const source = needSource(store, given)
  if (listCheckpoints(store).length > 0) throw damaged(`${store.paths.root} has checkpoints but no segment`)
  tellOfEarlier(store)
  const projectId = store.random.hex(16)
  const segment = new ActiveSegment(store.disk, 1, join(store.paths.events, segmentName(1)), true)
  store.disk.syncDirectory(store.paths.events)
  const state = new JournalState()
  const writer = newWriterId(store.host, store.random)
  const appender = new Appender({ store, lock, state, writer, nextSeq: 1, segment })
  appender.resume(undefined, [genesis(store, projectId, source)])
  try {
    settleIfPossible(store, appender)
  } catch (error) {
    appender.close()
    throw error
  }
  const history = { isWhole: true, from: 1, holes: [] }
  const rest = { base: undefined, boundary: undefined, history, redactions: [], isHurt: false }
  return { appender, state, projectId, ...rest }
}

/** A full disk does not keep a store from being opened: what is owed is paid when it can be. */
function settleIfPossible(store: Store, appender: Appender): void {
  try {
    appender.settle()
  } catch (error) {
    if (!isNoSpace(error)) throw error
    const { message, hint } = error as Error & { hint: string }
    store.log({ level: 'warn', code: 'opened_full', message, hint })
  }
}

/** What an older segment, or a checkpoint, says about where the newest one goes on. */
interface Before {
  /** The highest seq of a valid record in the newest segment that holds one. */
  lastSeq: number
  /** The highest number of a line of a later version. */
  passed: number
  /** All numbers, those of later versions included. */
  readonly numbers: Continuity
}

/** One opening of a journal that is there. */
class Opening {
  readonly #store: Store
  readonly #lock: HeldLock
  readonly #segments: readonly SegmentSource[]
  readonly #newest: SegmentSource
  readonly #older: readonly SegmentSource[]
  readonly #source: string | undefined
  readonly #redactions: ReadRecord[] = []
  /** What a repair said of numbers that hold no record. */
  readonly #repairs: SeqRange[] = []
  readonly #mends: boolean
  #isHurt = false
  #boundary: Boundary | undefined

  constructor(
    store: Store,
    lock: HeldLock,
    segments: readonly SegmentSource[],
    newest: SegmentSource,
    source: string | undefined,
    mends: boolean,
  ) {
    this.#store = store
    this.#mends = mends
    this.#lock = lock
    this.#segments = segments
    this.#newest = newest
    this.#older = segments.slice(0, -1)
    this.#source = source
  }

  run(): Opened {
    const store = this.#store
    const segment = new ActiveSegment(store.disk, this.#newest.number, this.#newest.path, false)
    try {
      return this.#open(segment)
    } catch (error) {
      segment.close()
      throw error
    }
  }

  #open(segment: ActiveSegment): Opened {
    const store = this.#store
    segment.sync()
    const stated = this.#statedProject()
    this.#checkSource()
    const reading = stated === undefined ? undefined : this.#load(stated)
    const base = reading?.checkpoint
    const state = reading?.state ?? new JournalState()
    const from = this.#segments[0]?.number ?? 1
    const isWhole = base !== undefined || from === 1
    const before: Before = {
      lastSeq: base?.headSeq ?? 0,
      passed: 0,
      numbers: new Continuity(base?.headSeq ?? (isWhole ? 0 : from - 1)),
    }
    const lost = new LostMail(new Continuity(before.numbers.highest), () => inboxProgressOf(store, state))
    this.#fold(state, base?.headSeq ?? 0, before, lost)
    const recovery = new Recovery(
      store,
      state,
      segment,
      { wholeFile: true, after: before.numbers.highest },
      {
        effective: record => {
          lost.effective(record)
          this.#note(record)
        },
        number: seq => {
          lost.see(seq)
          before.numbers.see(seq)
        },
      },
    )
    recovery.read()
    const isBarren = recovery.first === undefined
    if (recovery.first !== undefined && !this.#isHurt) this.#judgeFirst(recovery.first)
    const projectId = stated ?? (recovery.first && projectOf(recovery.first)) ?? this.#unborn(recovery)
    const last = isBarren ? before.lastSeq : segment.lastSeq
    const derived = Math.max(last, before.passed, segment.highest) + 1
    const nextSeq = nextSeqByMeta(store, projectId, derived)
    if (nextSeq > derived) recovery.skipTo(nextSeq)
    if (isBarren && this.#older.length > 0) this.#judgeNumber(nextSeq)
    const writer = newWriterId(store.host, store.random)
    const appender = new Appender({ store, lock: this.#lock, state, writer, nextSeq, segment })
    const first = isBarren ? [this.#firstRecord(projectId)] : []
    appender.resume(recovery, first, () => lost.owed(store, state))
    settleIfPossible(store, appender)
    appender.markReported()
    const history = { isWhole, from, holes: before.numbers.openHoles() }
    for (const range of this.#repairs) before.numbers.repair(range)
    this.#warn(history, before.numbers.openHoles().length)
    const boundary = this.#boundary
    return {
      ...{ appender, state, projectId, base, boundary, history },
      ...{ redactions: this.#redactions, isHurt: this.#isHurt },
    }
  }

  /** The project that the journal's own records state: the newest segment's, else the one's before it. */
  #statedProject(): string | undefined {
    let hurt: SegmentSource | undefined
    for (const source of this.#segments.toReversed()) {
      const { first, isHurt } = readSegmentHead(this.#store, source)
      if (first === undefined) continue
      if (isHurt && !this.#fits(first, source)) {
        hurt ??= source
        continue
      }
      this.#judgeFirst(first, source)
      const project = projectOf(first)
      if (hurt !== undefined) this.#judgeHurt(hurt)
      return project
    }
    const project = hurt === undefined ? undefined : projectInMeta(this.#store)
    if (hurt === undefined) return undefined
    if (project === undefined) throw foreign(hurt, this.#isFirst(hurt))
    this.#judgeHurt(hurt)
    return project
  }

  /** A segment whose first line is no record any more is damaged, if something else names its project. */
  #judgeHurt({ path }: SegmentSource): void {
    this.#isHurt = true
    if (!this.#mends) throw damaged(`${path} has lost its first record`)
  }

  /** A roll that was not finished is called by the next number, and nothing else made a segment without a record. */
  #judgeNumber(nextSeq: number): void {
    const { number, path } = this.#newest
    if (number > nextSeq) throw damaged(`${path} holds no record, but the next seq is ${nextSeq}`)
  }

  /** Refuses a journal that is not this writer's to go on with. */
  #judgeFirst(first: ReadRecord, source: SegmentSource = this.#newest): void {
    if (!this.#fits(first, source)) throw foreign(source, this.#isFirst(source))
  }

  #fits(first: ReadRecord, source: SegmentSource): boolean {
    const kind = first.action === 'journal_note' ? first.payload?.['kind'] : undefined
    const fits = kind === 'segment_sealed' || (kind === 'genesis' && this.#isFirst(source))
    return fits && projectOf(first) !== undefined
  }

  #isFirst({ number }: SegmentSource): boolean {
    return number === this.#segments[0]?.number
  }

  #checkSource(): void {
    if (this.#source === undefined) return
    const first = this.#segments[0]
    const record = first === undefined ? undefined : readSegmentHead(this.#store, first).first
    const recorded = record?.payload?.['kind'] === 'genesis' ? record.payload['source'] : undefined
    if (typeof recorded === 'string') checkSource(this.#store.paths.root, recorded, this.#source)
    else if (record !== undefined) {
      this.#store.log({
        level: 'warn',
        code: 'source_unknown',
        message: 'the genesis note is missing, so the server of this store is unknown',
      })
    }
  }

  #load(projectId: string): LoadedCheckpoint | undefined {
    const judge = new CheckpointJudge(this.#store, this.#segments)
    return loadNewest(this.#store, listCheckpoints(this.#store), judge, projectId)
  }

  /** Folds the sealed segments that no checkpoint covers. */
  #fold(state: JournalState, after: number, before: Before, lost: LostMail): void {
    for (const source of this.#older) {
      if (source.number <= after) continue
      const file = { path: source.path }
      const scan = new SegmentScan({
        valid: ({ record }) => {
          lost.see(record.seq)
          before.numbers.see(record.seq)
        },
        effective: line => {
          lost.effective(line.record)
          state.released(line, file)
          this.#note(line.record)
        },
        dropped: line => state.dropped(line),
        future: seq => {
          if (seq === undefined) return
          lost.see(seq)
          before.numbers.see(seq)
          before.passed = Math.max(before.passed, seq)
        },
      })
      for (const chunk of segmentChunks(this.#store, source)) scan.push(chunk)
      scan.finish()
      if (scan.first !== undefined) before.lastSeq = scan.lastSeq
      this.#boundary = takeBoundary(state, source.number, sealOfScan(source, scan))
    }
  }

  #note(record: ReadRecord): void {
    if (isNote(record) && record.payload?.['kind'] === 'redaction') this.#redactions.push(record)
    if (record.action !== 'seq_repair') return
    const { from, to } = record.payload ?? {}
    if (isSeq(from) && isSeq(to)) this.#repairs.push({ from, to })
  }

  /** A store whose very first record never became one. */
  #unborn(recovery: Recovery): string {
    recovery.judge()
    const { first } = recovery
    if (first === undefined) return this.#store.random.hex(16)
    this.#judgeFirst(first)
    const projectId = projectOf(first)
    invariant(projectId !== undefined, 'a first record that was judged names its project')
    return projectId
  }

  /** What a segment without a record has to begin with. */
  #firstRecord(projectId: string): Draft {
    const sealed = this.#older.at(-1)
    if (sealed !== undefined) return sealNote(readSeal(this.#store, sealed), projectId)
    tellOfEarlier(this.#store)
    return genesis(this.#store, projectId, needSource(this.#store, this.#source))
  }

  /** `unexplained`: how many of the holes no repair names. Records are gone either way; one that was mended is no news. */
  #warn({ isWhole, from, holes }: OpenHistory, unexplained: number): void {
    const { log, paths } = this.#store
    if (!isWhole) {
      log({
        level: 'error',
        code: 'history_incomplete',
        message: `records before ${from} are missing, and no checkpoint covers them`,
        hint: `restore the older segments into ${paths.archive}; until then no checkpoint is written`,
      })
    }
    const [hole] = holes
    if (hole === undefined) return
    const message = `ranges of seqs without a record: ${holes.length}, the first from ${hole.from} to ${hole.to}`
    if (unexplained === 0) {
      log({ level: 'info', code: 'history_holes', message: `${message}; repair notes explain them all` })
      return
    }
    log({
      level: 'error',
      code: 'history_holes',
      message,
      hint: `see which are explained: kim-producer journal verify --store ${shellWord(paths.root)}`,
    })
  }
}

/** `isFirst`: nothing before it says that the journal is ours, so it may all be another writer's. */
function foreign({ path }: SegmentSource, isFirst: boolean): KimError {
  return failure(
    'journal_foreign',
    `cannot append: ${path} was made by another writer`,
    isFirst
      ? 'nothing was appended; the journal of another writer can only be read; use another store: --store DIR'
      : `nothing was appended; if it is a copy, move it away: ${path}; the journal of another writer can only be read: use another store: --store DIR`,
  )
}
