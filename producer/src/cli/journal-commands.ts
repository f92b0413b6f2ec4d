/** The commands `kim-producer journal …`. */

import { once } from 'node:events'
import { formatCount, type Input, type Io, locateStore, usageError, withProgress } from '@kim/cli-kit'
import { KimError, parseCheckpointName, storePaths } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import { isRepairable, statsJournal, statsText, verdictText, verifyJournal } from '@kim/observer-sdk/verify'
import type { RehearsedChange } from '../effects/dry-run.js'
import { exportRecords } from '../journal/export.js'
import type { OpenJournal } from '../journal/journal.js'
import { type RedactTarget, redactStore } from '../journal/redact.js'
import { repairStore } from '../journal/repair.js'
import type { GcReport } from '../journal/roll.js'
import { openingLines, storeOptions, withJournal, withRehearsal } from './open-store.js'
import { doneByProducer } from './running-producer.js'
import { report, storeCommand } from './store-flags.js'

/** `journal verify`: checks a journal, and exits with the verdict. */
export async function journalVerify(input: Input, io: Io): Promise<number> {
  const { eventsDir } = locateStore(input, io.env)
  const verdict = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  report(input, io, verdict, verdictText(verdict, eventsDir).split('\n'))
  return verdict.exit
}

/** `journal stats`: counts what a journal holds. */
export async function journalStats(input: Input, io: Io): Promise<number> {
  const { eventsDir } = locateStore(input, io.env)
  const counted = await withProgress(io, 'stats', control => statsJournal({ eventsDir, ...control }))
  if (!counted.ok) {
    if (counted.reason === 'absent')
      throw noJournalAt(eventsDir) ?? new KimError('no_store', `there is no journal at ${eventsDir}`)
    throw new KimError('not_permitted', `cannot read ${eventsDir} (${counted.code})`)
  }
  const stats = counted.value
  report(input, io, stats, statsText(stats, eventsDir).split('\n'))
  return stats.unreadable.length > 0 ? 6 : 0
}

/** `journal export`: prints the stored lines of all available segments. Exits 6 if a part is unreadable. */
export async function journalExport(input: Input, io: Io): Promise<number> {
  let exit = 0
  const lines = exportRecords({
    storeDir: storeOptions(input, io).storeDir,
    from: input.number('from-seq'),
    to: input.number('to-seq'),
    agents: input.list('persona'),
    unreadable: why => {
      exit = 6
      io.stderr.write(`warning: ${why}\n`)
    },
  })
  for await (const line of lines) {
    if (io.signal.aborted) throw io.signal.reason
    if (!io.stdout.write(line)) await once(io.stdout, 'drain', { signal: io.signal })
  }
  return exit
}

interface CheckpointFacts {
  readonly dry_run: boolean
  readonly head_seq: number
  readonly previous_checkpoint_seq: number
  readonly checkpoint_seq: number
  readonly entities: number
  /** What gc, which follows, moves to `archive/`. */
  readonly moved: readonly string[]
  readonly isWhole?: boolean
  readonly opening?: readonly RehearsedChange[]
}

/** `journal checkpoint`: seals the active segment and writes a checkpoint of all sealed segments. */
export async function journalCheckpoint(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = storeOptions(input, io)
  const { isWhole, ...facts } = dryRun
    ? withRehearsal(options, writeCheckpoint)
    : ((await checkpointByProducer(options.storeDir, io)) ?? withJournal(options, writeCheckpoint))
  const verb = dryRun ? 'would write' : 'wrote'
  const made = facts.checkpoint_seq > facts.previous_checkpoint_seq
  report(input, io, facts, [
    made
      ? `${verb} a checkpoint at seq ${facts.checkpoint_seq} of ${facts.entities} live entities (the one before: seq ${facts.previous_checkpoint_seq})`
      : `no checkpoint was written, and no record is lost: ${isWhole === false ? 'records before the first segment are missing; restore them from a copy, then run this again' : 'a warning above says why'}`,
    ...(facts.moved.length === 0 ? [] : movedLines(facts.moved, dryRun)),
    ...openingLines(facts.opening),
  ])
  return made ? 0 : 1
}

/** A running producer holds the store, so it does the work. */
async function checkpointByProducer(storeDir: string, io: Io): Promise<CheckpointFacts | undefined> {
  const done = await doneByProducer(storePaths(storeDir), 'checkpoint', io)
  if (done === undefined) return undefined
  const { head_seq: checkpointSeq, previous_head_seq: previous, entities, moved } = done.result
  return {
    dry_run: false,
    head_seq: done.seq,
    previous_checkpoint_seq: Number(previous ?? 0),
    checkpoint_seq: Number(checkpointSeq),
    entities: Number(entities ?? 0),
    moved: namesOf(moved),
  }
}

/** A dry run only seals the segment: the checkpoint may be too large for the memory of a rehearsal. */
function writeCheckpoint(journal: OpenJournal, opening?: readonly RehearsedChange[]): CheckpointFacts {
  const isDry = opening !== undefined
  const previous = journal.checkpointSeq
  const headSeq = journal.head.seq
  if (isDry) journal.roll()
  else journal.checkpoint()
  // The first record of the new segment is the first one that the checkpoint does not cover.
  const planned = journal.history.isWhole ? journal.head.seq - 1 : previous
  const plan = isDry && planned > previous ? journal.gcPlan(1) : { segments: [], checkpoints: [] }
  return {
    dry_run: isDry,
    head_seq: headSeq,
    previous_checkpoint_seq: previous,
    checkpoint_seq: isDry ? planned : journal.checkpointSeq,
    entities: journal.state.size,
    isWhole: journal.history.isWhole,
    moved: isDry ? [...plan.segments, ...plan.checkpoints] : journal.archived,
    ...(isDry ? { opening } : {}),
  }
}

/** `journal gc`: moves what the second-newest verified checkpoint covers to the archive. */
export async function journalGc(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = { ...storeOptions(input, io), gzip: input.bool('gzip'), gc: false }
  const done: GcReport & { readonly opening?: readonly RehearsedChange[] } =
    (options.gzip ? undefined : await gcByProducer(options.storeDir, dryRun, io)) ??
    (dryRun
      ? withRehearsal(options, (journal, opening) => ({ ...journal.gcPlan(), opening }))
      : withJournal(options, journal => journal.gc()))
  const { checkpoints, segments, opening } = done
  const moved = [...segments, ...checkpoints]
  report(input, io, { dry_run: dryRun, ...done }, [
    ...(moved.length === 0
      ? [
          'nothing to move: the second-newest verified checkpoint covers no segment completely, or the copy in archive/ differs (a warning above, or archive_differs in the log of the producer)',
        ]
      : movedLines(moved, dryRun)),
    ...openingLines(opening),
  ])
  return 0
}

/** The names of moved files, with a headline. */
function movedLines(names: readonly string[], dryRun: boolean): string[] {
  const verb = dryRun ? 'would move' : 'moved'
  const checkpoints = names.filter(isCheckpoint).length
  const segments = formatCount(names.length - checkpoints, 'segment')
  return [
    `${verb} ${segments} and ${formatCount(checkpoints, 'checkpoint')} to archive/`,
    ...names.map(name => `  ${name}`),
  ]
}

function isCheckpoint(name: string): boolean {
  return parseCheckpointName(name) !== undefined
}

/** The names in an answer of a running producer; an older one leaves them out. */
function namesOf(moved: unknown): string[] {
  return Array.isArray(moved) ? moved.map(String) : []
}

/** A running producer holds the store, so it does the work. It cannot compress segments. */
async function gcByProducer(storeDir: string, dryRun: boolean, io: Io): Promise<GcReport | undefined> {
  const done = await doneByProducer(storePaths(storeDir), 'gc', io, { dry_run: dryRun })
  if (done === undefined) return undefined
  const names = namesOf(done.result['moved'])
  return { segments: names.filter(name => !isCheckpoint(name)), checkpoints: names.filter(isCheckpoint) }
}

/** `journal repair`: sets damaged bytes aside, notes them, and reports what is left. Exits 1 if damage is left. */
export async function journalRepair(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = storeOptions(input, io)
  const { opening, ...found } = repairStore({ ...options, dryRun })
  const left = await leftOver(options.storeDir, dryRun, io)
  const lines = [
    ...found.irregular.map(path => `not a regular file: ${path} → quarantine/`),
    ...found.checkpoints.map(name => `unusable checkpoint: ${name} → quarantine/`),
    ...found.lines.map(
      ({ segment, from, to }) =>
        `not a record: ${segment}, bytes ${from}–${to}; copied to quarantine/ and noted`,
    ),
    ...found.runs.map(id => `records that belong together and were not all written (${id}); noted`),
    ...found.holes.map(({ from, to }) =>
      from === to ? `record missing: ${from}; noted` : `records missing: ${from} to ${to}; noted`,
    ),
  ]
  const stays = Object.entries(left).map(([kind, count]) => `${kind} × ${count.toLocaleString('en-US')}`)
  const facts = { dry_run: dryRun, ...found, left, ...(opening === undefined ? {} : { opening }) }
  const verify = storeCommand('kim-producer journal verify', options.storeDir, io.env)
  const advice = `see the files: ${verify}. Restore them from a backup while the producer is stopped; without one, the producer can continue, but verify keeps reporting this`
  report(input, io, facts, [
    repairHeadline(lines.length, stays.length, dryRun),
    ...lines.map(line => `  ${line}`),
    ...(stays.length === 0 ? [] : [`not repairable; verify still reports: ${stays.join(', ')}`, advice]),
    ...openingLines(opening),
  ])
  return stays.length === 0 ? 0 : 1
}

function repairHeadline(lines: number, stays: number, dryRun: boolean): string {
  if (lines === 0) return stays === 0 ? 'nothing to repair' : 'nothing that can be repaired'
  if (stays === 0) return dryRun ? 'would repair:' : 'repaired:'
  return dryRun ? 'would copy to quarantine/ and note:' : 'copied to quarantine/ and noted:'
}

/** What verify finds after the repair, by kind. In a dry run: what a repair would not correct. */
async function leftOver(storeDir: string, dryRun: boolean, io: Io): Promise<Record<string, number>> {
  const { events: eventsDir } = storePaths(storeDir)
  const { findings } = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  const wrong = Object.entries(findings).filter(
    ([kind, { weight }]) => weight > 0 && !(dryRun && isRepairable(kind)),
  )
  return Object.fromEntries(wrong.map(([kind, { count }]) => [kind, count]))
}

/** `journal redact`: erases the content of one entity everywhere in the store. */
export function journalRedact(input: Input, io: Io): number {
  const target = redactTarget(input)
  const reason = input.text('reason')
  if (reason === undefined || reason === '')
    throw usageError('--reason is missing', 'give --reason TEXT; the journal keeps it')
  const dryRun = input.bool('dry-run')
  const done = redactStore({ ...storeOptions(input, io), target, reason, dryRun })
  const entity = `${done.item_type} ${done.item_id}`
  const verb = dryRun ? 'would erase' : 'erased'
  report(input, io, { dry_run: dryRun, ...done }, [
    done.records === 0
      ? `nothing to erase: no record of ${entity} has content`
      : `${verb} the content of ${entity} in ${formatCount(done.records, 'record')} of ${formatCount(done.segments.length, 'segment')}`,
    ...done.segments.map(name => `  ${name}`),
    ...openingLines(done.opening),
  ])
  return 0
}

function redactTarget(input: Input): RedactTarget {
  const seq = input.number('seq')
  const type = input.positional('TYPE')
  const id = input.positional('ID')
  if (input.bool('entity')) {
    if (seq !== undefined) throw usageError('--seq and --entity exclude each other', 'give one of them')
    if (type !== undefined && id !== undefined) return { item_type: type, item_id: id }
    throw usageError('--entity needs a type and an id', 'for example: --entity message river/246')
  }
  if (type !== undefined)
    throw usageError(`"${type}" needs --entity before it`, 'for example: --entity message river/246')
  if (seq !== undefined) return { seq }
  throw usageError('--seq or --entity is missing', 'give --seq N, or --entity TYPE ID')
}
