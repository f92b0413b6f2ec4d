/** Opens a store for writing: finds out what a crash left, finishes it, and changes nothing that is there. */
import { join } from 'node:path'
import { formatCount, shellWord } from '@kim/cli-kit'
import {
  Continuity,
  invariant,
  type KimError,
  type ReadRecord,
  repairedBy,
  type SeqRange,
  segmentName,
} from '@kim/manifest'
import { everyStep, regardless } from '../effects/every-step.js'
import type { HeldLock } from '../effects/store-lock.js'
import { ActiveSegment, Appender } from './append.js'
import { type Boundary, loadNewest, takeBoundary, type VerifiedCheckpoint } from './checkpoint.js'
import { damaged, failure, isNoSpace } from './disk-errors.js'
import type { Draft } from './draft.js'
import { finishRedactions } from './erase.js'
import { JournalState, nextSeqByMeta, projectInMeta, tellOfEarlier } from './journal-state.js'
import { listCheckpoints, listSegments, listTemps, type SegmentFile } from './listing.js'
import { inboxProgressOf, LostMail } from './lost-mail.js'
import { genesisNote, isNote, sealNote } from './notes.js'
import { Recovery } from './recover.js'
import { Upkeep } from './roll.js'
import { projectOf, readSegmentHead, scanSegment } from './segment-scan.js'
import { checkSource, type JournalOptions, letGo, lockedStore, type Store } from './store.js'

/** What of the journal's history is there. */
export interface OpenHistory {
  /** False if records before `from` are missing and no checkpoint covers them: state is incomplete. */
  readonly isWhole: boolean
  /** The seq that the available history begins with. */
  readonly from: number
  /** Seqs without a record in what was read: signs that records were lost, whether or not a note says so. */
  readonly holes: readonly SeqRange[]
}

/** An open store and what works on it. */
export interface Session {
  readonly store: Store
  readonly lock: HeldLock
  readonly appender: Appender
  readonly state: JournalState
  readonly projectId: string
  readonly upkeep: Upkeep
  readonly history: OpenHistory
  /** The end of the last sealed segment, if no verified checkpoint covers it. */
  readonly boundary: Boundary | undefined
  /** The redaction notes after the records that the newest verified checkpoint covers. */
  readonly redactions: readonly ReadRecord[]
  /** True if the newest segment has lost its first record: a repair has to go on in a new one. */
  readonly isHurt: boolean
}

/** Opens a store for writing and finishes what a crash left. */
export function openSession(options: JournalOptions): Session {
  const { store, lock } = lockedStore(options)
  try {
    return enterStore(store, lock, options)
  } catch (error) {
    regardless(() => lock.release())
    throw error
  }
}

/** The same, for a caller that holds the lock; `mends` opens a store that only a repair can go on with. */
export function enterStore(store: Store, lock: HeldLock, options: JournalOptions, mends = false): Session {
  const session = enterOnce(store, lock, options, mends)
  try {
    if (!finishRedactions(session)) return session
  } catch (error) {
    regardless(() => session.appender.close())
    throw error
  }
  // Files were replaced, so what was derived from them is derived once more.
  session.appender.close()
  return enterOnce(store, lock, options, mends)
}

function enterOnce(store: Store, lock: HeldLock, options: JournalOptions, mends: boolean): Session {
  for (const path of listTemps(store)) store.disk.removeNow(path)
  const segments = listSegments(store)
  const newest = segments.at(-1)
  if (newest?.isArchived === true) {
    const hint = `nothing was changed; move the segment back into ${store.paths.events}, unpacked if its name ends with .gz, then start again`
    throw failure('store_damaged', `the newest segment, ${newest.path}, is only in the archive`, hint)
  }
  const opened =
    newest === undefined
      ? createJournal(store, lock, options.source)
      : new Opening({ store, lock, segments, newest, source: options.source, mends }).run()
  const { appender, state, projectId, base, history } = opened
  const upkeep = new Upkeep({
    ...{ store, appender, state, projectId, base, options },
    isHistoryWhole: history.isWhole,
  })
  if (opened.boundary !== undefined) upkeep.sealed(opened.boundary)
  return { store, lock, upkeep, ...opened }
}

/** Lets go of a store. */
export function closeSession({ store, lock, appender, upkeep }: Session): void {
  everyStep(
    () => upkeep.abandon(),
    () => appender.close(),
    () => letGo(lock, store),
  )
}

/** Names one life of one process: with it, `(seq, writer)` is a record's identity. */
function newWriterId({ host, random }: Store): string {
  return `w_${host.pid}-${random.hex(3)}`
}

/** A store that may be appended to. */
type Opened = Omit<Session, 'store' | 'lock' | 'upkeep'> & {
  readonly base: VerifiedCheckpoint | undefined
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
  const { root } = store.paths
  if (listCheckpoints(store).length > 0)
    throw failure(
      'store_damaged',
      `${root} has checkpoints but no segment`,
      `all segments are missing: restore the store from a copy; without one, move it away (mv ${shellWord(root)} ${shellWord(`${root}.old`)}) and start again: mail on the server is then recorded as on a first poll`,
    )
  tellOfEarlier(store)
  const projectId = store.random.hex(16)
  const segment = new ActiveSegment(store.disk, 1, join(store.paths.events, segmentName(1)), true)
  store.disk.syncDirectory(store.paths.events)
  const state = new JournalState()
  const writer = newWriterId(store)
  const first = [genesisNote(store, projectId, source)]
  const appender = new Appender({ store, lock, state, writer, nextSeq: 1, segment, first })
  try {
    settleIfPossible(store, appender)
  } catch (error) {
    appender.close()
    throw error
  }
  const history = { isWhole: true, from: 1, holes: [] }
  const rest = { base: undefined, boundary: undefined, redactions: [], isHurt: false }
  return { appender, state, projectId, history, ...rest }
}

/** A full disk does not keep a store from being opened: what is owed is paid when it can be. */
function settleIfPossible(store: Store, appender: Appender): void {
  try {
    appender.settle()
  } catch (error) {
    if (!isNoSpace(error)) throw error
    const { message, hint } = error
    store.log({ level: 'warn', code: 'opened_full', message, hint })
  }
}

/** What an opening begins with. */
interface OpeningStart {
  readonly store: Store
  readonly lock: HeldLock
  readonly segments: readonly SegmentFile[]
  readonly newest: SegmentFile
  readonly source: string | undefined
  readonly mends: boolean
}

/** One opening of a journal that is there. */
class Opening {
  readonly #start: OpeningStart
  readonly #redactions: ReadRecord[] = []
  /** What a repair said of numbers that hold no record. */
  readonly #repairs: SeqRange[] = []
  #isHurt = false
  #boundary: Boundary | undefined
  /** The highest seq of a valid record in the newest segment that holds one, or of the checkpoint. */
  #lastSeq = 0
  /** The highest seq of a line of a later version. */
  #passed = 0

  constructor(start: OpeningStart) {
    this.#start = start
  }

  run(): Opened {
    const { newest, store } = this.#start
    const segment = new ActiveSegment(store.disk, newest.number, newest.path, false)
    try {
      return this.#open(segment)
    } catch (error) {
      segment.close()
      throw error
    }
  }

  #open(segment: ActiveSegment): Opened {
    const { lock, segments, store } = this.#start
    segment.sync()
    const stated = this.#statedProject()
    this.#checkSource()
    const loaded = stated === undefined ? undefined : loadNewest(store, segments, stated)
    const base = loaded?.checkpoint
    const state = loaded?.state ?? new JournalState()
    const covered = base?.header.head_seq ?? 0
    const from = segments[0]?.number ?? 1
    const isWhole = base !== undefined || from === 1
    this.#lastSeq = covered
    // All seqs, those of later versions included.
    const numbers = new Continuity(isWhole ? covered : from - 1)
    const lost = new LostMail(new Continuity(numbers.highest), () => inboxProgressOf(store, state))
    const onNumber = (seq: number): void => {
      lost.see(seq)
      numbers.see(seq)
    }
    const onEffective = (record: ReadRecord): void => {
      lost.effective(record)
      this.#note(record)
    }
    this.#fold(state, covered, onNumber, onEffective)
    const listener = { effective: onEffective, number: onNumber }
    const recovery = new Recovery(store, state, segment, numbers.highest, listener)
    recovery.read()
    const isBarren = recovery.first === undefined
    if (recovery.first !== undefined && !this.#isHurt) this.#judgeFirst(recovery.first)
    const projectId = stated ?? (recovery.first && projectOf(recovery.first)) ?? this.#unborn(recovery)
    const last = isBarren ? this.#lastSeq : segment.lastSeq
    const derived = Math.max(last, this.#passed, segment.highest) + 1
    const nextSeq = nextSeqByMeta(store, projectId, derived)
    if (nextSeq > derived) recovery.skipTo(nextSeq)
    if (isBarren) this.#judgeNumber(nextSeq)
    const first = isBarren ? [this.#firstRecord(projectId)] : []
    const writer = newWriterId(store)
    const pins = (): readonly Draft[] => lost.owed(store, state)
    const appender = new Appender({ store, lock, state, writer, nextSeq, segment, recovery, first, pins })
    settleIfPossible(store, appender)
    appender.markReported()
    const history = { isWhole, from, holes: numbers.openHoles() }
    for (const range of this.#repairs) numbers.repair(range)
    this.#warn(history, numbers.openHoles().length)
    return {
      ...{ appender, state, projectId, base, history },
      ...{ boundary: this.#boundary, redactions: this.#redactions, isHurt: this.#isHurt },
    }
  }

  /** The project that the journal's own records state: the newest segment's, else the one's before it. */
  #statedProject(): string | undefined {
    let hurt: SegmentFile | undefined
    for (const file of this.#start.segments.toReversed()) {
      const { first, isHurt } = readSegmentHead(this.#start.store, file)
      if (first === undefined) continue
      if (isHurt && !this.#fits(first, file)) {
        hurt ??= file
        continue
      }
      this.#judgeFirst(first, file)
      if (hurt !== undefined) this.#judgeHurt(hurt)
      return projectOf(first)
    }
    if (hurt === undefined) return undefined
    const project = projectInMeta(this.#start.store)
    if (project === undefined) throw foreign(hurt, this.#isFirst(hurt))
    this.#judgeHurt(hurt)
    return project
  }

  /** A segment whose first line is no record any more is damaged, if something else names its project. */
  #judgeHurt({ path }: SegmentFile): void {
    this.#isHurt = true
    if (!this.#start.mends) throw damaged(`${path} has lost its first record`)
  }

  /** A roll that was not finished is called by the next number, and nothing else made a segment without a record. */
  #judgeNumber(nextSeq: number): void {
    const { number, path } = this.#start.newest
    if (number > nextSeq)
      throw damaged(
        `${path} begins with seq ${number}, but the records before it end at ${nextSeq - 1}: records are missing`,
      )
  }

  /** Refuses a journal that is not this writer's to go on with. */
  #judgeFirst(first: ReadRecord, file: SegmentFile = this.#start.newest): void {
    if (!this.#fits(first, file)) throw foreign(file, this.#isFirst(file))
  }

  #fits(first: ReadRecord, file: SegmentFile): boolean {
    const kind = first.action === 'journal_note' ? first.payload?.['kind'] : undefined
    const fits = kind === 'segment_sealed' || (kind === 'genesis' && this.#isFirst(file))
    return fits && projectOf(first) !== undefined
  }

  #isFirst({ number }: SegmentFile): boolean {
    return number === this.#start.segments[0]?.number
  }

  #checkSource(): void {
    const [file] = this.#start.segments
    if (this.#start.source === undefined || file === undefined) return
    const { first } = readSegmentHead(this.#start.store, file)
    const recorded = first?.payload?.['kind'] === 'genesis' ? first.payload['source'] : undefined
    if (typeof recorded === 'string') checkSource(this.#start.store.paths.root, recorded, this.#start.source)
    else if (first !== undefined) {
      this.#start.store.log({
        level: 'warn',
        code: 'source_unknown',
        message: 'the first record is missing, so the store does not show which server it belongs to',
        hint: 'check --url: this time the producer cannot refuse a wrong server',
      })
    }
  }

  /** Folds the sealed segments that no checkpoint covers. */
  #fold(
    state: JournalState,
    covered: number,
    onNumber: (seq: number) => void,
    onEffective: (record: ReadRecord) => void,
  ): void {
    for (const source of this.#start.segments.slice(0, -1)) {
      if (source.number <= covered) continue
      const scan = scanSegment(this.#start.store, source, {
        valid: ({ record }) => onNumber(record.seq),
        released: line => {
          state.released(line, source.path)
          onEffective(line.record)
        },
        dropped: lines => state.dropped(lines),
        future: seq => {
          if (seq === undefined) return
          onNumber(seq)
          this.#passed = Math.max(this.#passed, seq)
        },
      })
      if (scan.first !== undefined) this.#lastSeq = scan.lastSeq
      this.#boundary = takeBoundary(state, scan.sealOf(source))
    }
  }

  #note(record: ReadRecord): void {
    if (isNote(record) && record.payload?.['kind'] === 'redaction') this.#redactions.push(record)
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#repairs.push(repaired)
  }

  /** A store whose very first record never became one. */
  #unborn(recovery: Recovery): string {
    recovery.judge()
    const { first } = recovery
    if (first === undefined) return this.#start.store.random.hex(16)
    this.#judgeFirst(first)
    const projectId = projectOf(first)
    invariant(projectId !== undefined, 'a first record that was judged names its project')
    return projectId
  }

  /** What a segment without a record has to begin with. */
  #firstRecord(projectId: string): Draft {
    const sealed = this.#start.segments.at(-2)
    if (sealed !== undefined)
      return sealNote(scanSegment(this.#start.store, sealed, {}).sealOf(sealed), projectId)
    tellOfEarlier(this.#start.store)
    return genesisNote(this.#start.store, projectId, needSource(this.#start.store, this.#start.source))
  }

  /** `unexplained`: how many of the holes no repair names. A hole that a repair explains is only information. */
  #warn({ isWhole, from, holes }: OpenHistory, unexplained: number): void {
    const { log, paths } = this.#start.store
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
    const first = hole.from === hole.to ? `record ${hole.from}` : `records ${hole.from} to ${hole.to}`
    const message = `records are missing in ${formatCount(holes.length, 'place')}, first ${first}`
    const hint = `see which of them a repair noted: kim-producer journal verify --store ${shellWord(paths.root)}`
    log(
      unexplained > 0
        ? { level: 'error', code: 'history_holes', message, hint }
        : { level: 'info', code: 'history_holes', message: `${message}; repair notes explain them all` },
    )
  }
}

/** `isFirst`: nothing before it says that the journal is ours, so it may all be another writer's. */
function foreign({ path }: SegmentFile, isFirst: boolean): KimError {
  return failure(
    'journal_foreign',
    `cannot append: ${path} was made by another writer`,
    isFirst
      ? 'nothing was appended; the journal of another writer can only be read; use another store: --store DIR'
      : `nothing was appended; if it is a copy, move it away: ${path}; the journal of another writer can only be read: use another store: --store DIR`,
  )
}
