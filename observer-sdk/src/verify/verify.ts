import { announcedLoss, type Meta, projectionDigest } from '@kim/manifest'
import { listStore, type StoreListing } from '../store/listing.js'
import { noJournalAt } from '../store/no-journal.js'
import type { Baseline } from './baseline.js'
import { BlobCheck } from './blob-check.js'
import { ChainCheck } from './chain-check.js'
import { CheckpointCheck } from './checkpoint-check.js'
import { type SurveyedCheckpoint, surveyCheckpoint } from './checkpoint-file.js'
import { ContinuityCheck } from './continuity-check.js'
import { exitOf, FindingLog } from './findings.js'
import { FramingCheck } from './framing-check.js'
import { HashedState } from './hashed-state.js'
import { type Checks, JournalJudge } from './journal-judge.js'
import { namesProject, readMeta } from './meta-file.js'
import { type PassOptions, PassPacer } from './pace.js'
import { ProjectIdentity } from './project-identity.js'
import { RedactionCheck } from './redaction-check.js'
import { isReferenced } from './reference-search.js'
import { RevisionCheck } from './revision-check.js'
import { SchemaCheck } from './schema-check.js'
import { checkpointBytes, segmentBytes } from './stored-bytes.js'
import { TxCheck } from './tx-check.js'
import { type JournalVerdict, noJournal } from './verdict.js'
import { walkJournal } from './walk.js'

/** What hashing one payload counts for, in bytes read. */
const hashCost = 1024

/**
 * Judges a journal directory, archive included, from its bytes alone. Reads only, in bounded memory, and never
 * repairs. Rejects only with the reason of an aborted signal: whatever the directory holds is a finding.
 */
export async function verifyJournal(options: PassOptions): Promise<JournalVerdict> {
  const { eventsDir } = options
  const log = new FindingLog()
  const missing = noJournalAt(eventsDir)
  if (missing !== undefined) return { ...noJournal, hint: missing.hint }
  const listed = listStore(eventsDir)
  if (!listed.ok) {
    if (listed.reason === 'absent') return noJournal
    log.report('unreadable', {}, `${eventsDir}: ${listed.code}`)
    return { ...noJournal, exit: 6, findings: log.close(false) }
  }
  const listing = listed.value
  reportListing(listing, log)

  // Before anything else: a writer at work may only be ahead of it afterwards.
  const meta = readMeta(eventsDir)
  const pace = new PassPacer(options)
  // A checkpoint is read for its hash, and again where it is compared.
  pace.expect(segmentBytes(eventsDir, listing) + 2 * checkpointBytes(eventsDir, listing))
  const files = await surveyCheckpoints(eventsDir, listing, log, pace)
  const after = (listing.segments[0]?.number ?? 1) - 1
  const checks = createChecks(eventsDir, listing, files, after, log, pace)
  const isNative = files.some(file => file.header !== undefined) || namesProject(meta)
  const judge = new JournalJudge(checks, listing.segments.at(-1)?.number ?? 0, isNative, pace)

  const start = files.find(file => file.headSeq === after)
  if (after > 0 && start !== undefined) await checks.checkpoints.compare(start, pace)
  await walkJournal(eventsDir, listing.segments, judge, pace)

  const { framing, continuity, runs, chain, checkpoints, blobs, state, project } = checks
  for (const check of [framing, continuity, runs, chain, checkpoints]) check.end()
  if (after > 0)
    log.report('history_starts_at', { seq: after + 1 }, `records up to seq ${after} are not available`)
  await blobs.end(eventsDir, pace)
  reportLoss(meta, project.id, continuity.head, log)

  const isForeign = !judge.isNative && judge.lines > 0
  if (isForeign) {
    log.drop('seal_missing')
    log.drop('schema')
    log.report('foreign', {}, 'no record names a project: another writer made this journal')
  }
  const digest = await digestOf(state, pace)
  const findings = log.close(isForeign)
  pace.finish()
  return {
    exit: exitOf(findings),
    findings,
    verified_from: after + 1,
    records: judge.records,
    segments: judge.segments,
    bytes: judge.bytes,
    head_seq: continuity.head,
    project_id: project.id ?? files.find(file => file.header !== undefined)?.header?.project_id ?? null,
    digest,
  }
}

/**
 * `meta.json` is written after what it speaks of is durable: where it is ahead, records that were told of are gone, or
 * this is a copy that was made while a writer was at work.
 */
function reportLoss(
  meta: Meta | undefined,
  projectId: string | undefined,
  head: number,
  log: FindingLog,
): void {
  if (meta === undefined || projectId === undefined) return
  const lost = announcedLoss(meta, projectId, head + 1)
  if (lost === undefined) return
  log.report(
    'meta_ahead',
    { seq: lost.from },
    `meta.json names seq ${lost.to}, but the journal ends at ${head}`,
  )
}

async function digestOf(state: HashedState, pace: PassPacer): Promise<string> {
  for (const { image } of state.entities()) {
    void image.hash
    await pace.turn(hashCost)
  }
  return projectionDigest(state.digestEntities())
}

function reportListing({ misnamed, failures }: StoreListing, log: FindingLog): void {
  for (const name of misnamed) log.report('segment_misnamed', { segment: name }, `${name} is not read`)
  for (const { path, code } of failures) log.report('unreadable', {}, `${path}: ${code}`)
}

async function surveyCheckpoints(
  eventsDir: string,
  { checkpoints }: StoreListing,
  log: FindingLog,
  pace: PassPacer,
): Promise<SurveyedCheckpoint[]> {
  const files: SurveyedCheckpoint[] = []
  for (const entry of checkpoints) {
    const surveyed = await surveyCheckpoint(eventsDir, entry, pace)
    if (surveyed.ok) files.push(surveyed.value)
    else if (surveyed.reason === 'unreadable') log.report('unreadable', {}, `${entry.name}: ${surveyed.code}`)
  }
  return files
}

function createChecks(
  eventsDir: string,
  listing: StoreListing,
  files: readonly SurveyedCheckpoint[],
  after: number,
  log: FindingLog,
  pace: PassPacer,
): Checks {
  const baseline: Baseline = { seq: 0 }
  const state = new HashedState()
  const project = new ProjectIdentity(log)
  const continuity = new ContinuityCheck(log, after)
  const redactions = new RedactionCheck(log)
  const chain = new ChainCheck(log, redactions, continuity)
  const blobs = new BlobCheck(log)
  const context = { eventsDir, log, state, baseline, continuity, chain, redactions, project, blobs }
  return {
    log,
    state,
    project,
    continuity,
    redactions,
    chain,
    blobs,
    framing: new FramingCheck(log),
    schema: new SchemaCheck(log),
    revisions: new RevisionCheck(log, state, continuity, baseline),
    runs: new TxCheck(log),
    checkpoints: new CheckpointCheck(
      { ...context, isReferenced: file => isReferenced(eventsDir, listing.segments, file, pace) },
      files,
    ),
  }
}
