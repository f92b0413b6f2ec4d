import { basename, join } from 'node:path'
import {
  Continuity,
  eventsPaths,
  type JsonObject,
  KimError,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  type ReadRecord,
  repairedBy,
  runAtOnce,
  type SeqRange,
  tempName,
} from '@kim/manifest'
import type { RehearsedChange } from '../effects/dry-run.js'
import { candidateVerifier } from './checkpoint.js'
import { failure } from './disk-errors.js'
import type { Draft } from './draft.js'
import { nextSeqByMeta } from './journal-state.js'
import {
  type CheckpointCandidate,
  cutChunks,
  listCheckpoints,
  listSegments,
  type SegmentFile,
  segmentChunks,
} from './listing.js'
import { abandonedNote, seqRepair, tornNote } from './notes.js'
import { closeSession, enterStore, type Session } from './open.js'
import {
  type AbandonedRun,
  addRun,
  projectOf,
  readSegmentHead,
  type ScannedRange,
  scanSegment,
} from './segment-scan.js'
import { type JournalOptions, lockedStore, makeStore, rehearse, type Store } from './store.js'

/** How a repair is done. */
export interface RepairOptions extends JournalOptions {
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean | undefined
}

/** What a repair found, and set right unless it was a dry run. */
export interface RepairReport {
  /** Entries with the name of a store's file that are no files: moved to quarantine. */
  readonly irregular: readonly string[]
  /** Checkpoints that nothing vouches for: moved to quarantine. */
  readonly checkpoints: readonly string[]
  /** Lines that are no record and that no note named: copied to quarantine, named by a note. */
  readonly lines: readonly { readonly segment: string; readonly from: number; readonly to: number }[]
  /** Runs that never became complete and that no note named: named by a note. */
  readonly runs: readonly string[]
  /** Numbers without a record that nothing explained: named by a seq_repair. */
  readonly holes: readonly SeqRange[]
  /** What opening the store would do first; only of a dry run. */
  readonly opening?: readonly RehearsedChange[]
}

const NOTHING_CHANGED = 'nothing was changed; '

/**
 * Moves damage to quarantine and notes in the journal what it found. It changes no byte of a segment: a line that is no
 * record is copied and named in a note, a missing range is named, and only files that are no segments are moved. It
 * needs the store for itself. If it could not finish, it finds that out before it changes anything.
 */
export function repairStore(options: RepairOptions): RepairReport {
  if (options.dryRun === true) {
    const { changes, options: dry } = rehearse(options)
    return withNextStep(() => repair(dry, changes), NOTHING_CHANGED)
  }
  // Only what is moved out of the way can leave a store behind in which the rest then fails.
  const before = makeStore(options)
  if (findIrregular(before).length > 0 || findAstray(before) !== undefined) {
    const { changes, options: dry } = rehearse({ ...options, log: undefined })
    withNextStep(() => repair(dry, changes), NOTHING_CHANGED)
  }
  return withNextStep(() => repair(options))
}

/** A failure of a repair does not send its reader to the repair; one of a rehearsal changed nothing. */
function withNextStep<T>(run: () => T, kept = ''): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof KimError) || error.code === 'store_held') throw error
    const isBeyond = error.hint.includes('journal repair')
    if (kept === '' && !isBeyond) throw error
    const next = isBeyond
      ? 'journal repair cannot repair this. Restore the store from a copy, or restore the file that the message names'
      : error.hint.replace(NOTHING_CHANGED, '')
    throw failure(error.code, error.message, `${kept}${next}`, error)
  }
}

function repair(options: RepairOptions, changes?: () => readonly RehearsedChange[]): RepairReport {
  const { store, lock } = lockedStore(options)
  let session: Session | undefined
  try {
    const irregular = findIrregular(store)
    for (const path of irregular) quarantine(store, path)
    for (let path = findAstray(store); path !== undefined; path = findAstray(store)) {
      irregular.push(path)
      quarantine(store, path)
    }
    session = enterStore(store, lock, options, true)
    const opening = changes?.().filter(change => !isOfRepair(change))
    const checkpoints = findUnverified(store, session.projectId)
    const damage = findDamage(store)
    session.appender.settle()
    for (const { path } of checkpoints) quarantine(store, path)
    for (const line of damage.lines) keepCopy(store, line)
    append(session, damage)
    if (session.isHurt) {
      // The first record of the next segment names the project, as that of the hurt one no longer does.
      session.upkeep.sealed(session.appender.roll(session.projectId))
      session.appender.settle()
    }
    // A checkpoint is no part of what is reported, and would be held in memory.
    if (opening === undefined) session.upkeep.finish()
    return {
      irregular,
      checkpoints: checkpoints.map(({ path }) => path),
      lines: damage.lines.map(({ source, range: { from, to } }) => ({ segment: source.name, from, to })),
      runs: damage.runs.map(({ run }) => run.tx_id),
      holes: damage.holes,
      ...(opening === undefined ? {} : { opening }),
    }
  } finally {
    if (session === undefined) lock.release()
    else closeSession(session)
  }
}

/** Whether it was the repair that came before the open, and not the open. */
function isOfRepair({ path, what }: RehearsedChange): boolean {
  return what === 'move' || basename(path) === basename(eventsPaths('').quarantine)
}

/** A newest segment without a record under a number that is not the next one: no roll made it. */
function findAstray(loud: Store): string | undefined {
  const store: Store = { ...loud, log: () => undefined }
  const segments = listSegments(store)
  const newest = segments.pop()
  if (newest === undefined || newest.isArchived || readSegmentHead(store, newest).first !== undefined)
    return undefined
  for (const source of segments.toReversed()) {
    let passed = 0
    const { first, lastSeq } = scanSegment(store, source, {
      future(seq = 0) {
        passed = Math.max(passed, seq)
      },
    })
    if (first === undefined) continue
    const next = nextSeqByMeta(store, projectOf(first) ?? '', Math.max(passed, lastSeq) + 1)
    return newest.number > next ? newest.path : undefined
  }
  return undefined
}

/** Entries with the name of a segment or checkpoint that are no regular files. */
function findIrregular(store: Store): string[] {
  const { disk, paths } = store
  const isLegal = (name: string): boolean =>
    (parseSegmentName(name) ?? parseCheckpointName(name)) !== undefined ||
    parseArchivedSegmentName(name) !== undefined
  return [paths.events, paths.archive, paths.checkpoints].flatMap(directory =>
    disk
      .names(directory)
      .filter(isLegal)
      .map(name => join(directory, name))
      .filter(path => disk.look(path)?.isFile() === false),
  )
}

function ensureQuarantine({ disk, paths }: Store): void {
  if (disk.look(paths.quarantine) !== undefined) return
  disk.makeDirectory(paths.quarantine)
  disk.syncDirectory(paths.events)
}

/** A name in quarantine that nothing has yet. */
function freePath({ disk, paths }: Store, name: string): string {
  for (let n = 0; ; n++) {
    const path = join(paths.quarantine, n === 0 ? name : `${name}.${n}`)
    if (disk.look(path) === undefined) return path
  }
}

function quarantine(store: Store, path: string): void {
  ensureQuarantine(store)
  store.disk.move(path, freePath(store, basename(path)))
}

/** Live checkpoints and archived ones that the journal does not vouch for. */
function findUnverified(store: Store, projectId: string): CheckpointCandidate[] {
  const verifier = candidateVerifier(store, listSegments(store), projectId)
  return listCheckpoints(store).filter(candidate => runAtOnce(verifier.verify(candidate)) === undefined)
}

/** What no note names yet. */
interface Damage {
  readonly lines: readonly { readonly source: SegmentFile; readonly range: ScannedRange }[]
  readonly runs: readonly { readonly source: SegmentFile; readonly run: AbandonedRun }[]
  readonly holes: readonly SeqRange[]
}

/** Reads everything there is, once. */
function findDamage(store: Store): Damage {
  const segments = listSegments(store)
  const lines: { source: SegmentFile; range: ScannedRange }[] = []
  const runs: { source: SegmentFile; run: AbandonedRun }[] = []
  const named = new Set<string>()
  const first = segments[0]?.number ?? 1
  const numbers = new Continuity(first - 1)
  for (const source of segments) {
    const own: AbandonedRun[] = []
    scanSegment(store, source, {
      released: ({ record }) => noteNames(record, named, numbers),
      valid: ({ record }) => numbers.see(record.seq),
      future: seq => {
        if (seq !== undefined) numbers.see(seq)
      },
      torn: range => void lines.push({ source, range }),
      abandoned: run => addRun(own, run),
    })
    runs.push(...own.map(run => ({ source, run })))
  }
  return {
    lines: lines.filter(({ source, range }) => !named.has(lineMark(source.name, range.from, range.to))),
    runs: runs.filter(({ run }) => !named.has(runMark(run.tx_id, run.first_seq))),
    holes: numbers.openHoles(),
  }
}

const lineMark = (segment: string, from: number, to: number): string => `line ${segment} ${from} ${to}`
const runMark = (txId: string, firstSeq: number): string => `run ${firstSeq} ${txId}`

function noteNames(record: ReadRecord, named: Set<string>, numbers: Continuity): void {
  const repaired = repairedBy(record)
  if (repaired !== undefined) numbers.repair(repaired)
  if (record.action !== 'journal_note') return
  const { kind, segment, from, to, tx_id, first_seq }: JsonObject = record.payload ?? {}
  if (kind === 'torn_tail_adjudicated') named.add(lineMark(String(segment), Number(from), Number(to)))
  if (kind === 'tx_abandoned') named.add(runMark(String(tx_id), Number(first_seq)))
}

/** Copies the bytes of a line to quarantine before a note names them. */
function keepCopy(store: Store, { source, range }: Damage['lines'][number]): void {
  ensureQuarantine(store)
  const name = `${source.name}.${range.from}-${range.to}`
  const path = join(store.paths.quarantine, name)
  if (store.disk.look(path) !== undefined) return
  store.disk.writeDurably(join(store.paths.quarantine, tempName(name)), path, rangeOf(store, source, range))
}

function rangeOf(store: Store, source: SegmentFile, { from, to }: ScannedRange): Iterable<Buffer> {
  return cutChunks(segmentChunks(store, source, from), to - from)
}

function append({ store, appender }: Session, { holes, lines, runs }: Damage): void {
  const drafts: Draft[] = [
    ...holes.map(({ from, to }) => seqRepair(from, to, 'repair')),
    ...lines.map(({ source, range }) => tornNote(source.name, range, () => rangeOf(store, source, range))),
    ...runs.map(({ source, run }) => abandonedNote(source.name, run)),
  ]
  for (let at = 0; at < drafts.length; at += 500) {
    appender.appendOne(drafts.slice(at, at + 500))
  }
}
