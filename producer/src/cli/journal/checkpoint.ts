import type { Input, Io } from '@kim/cli-kit'
import { type StorePaths, storePaths } from '@kim/manifest'
import type { RehearsedChange } from '../../effects/rehearsal.js'
import type { Journal } from '../../journal/journal.js'
import { doneByProducer } from '../ask-producer.js'
import { storeOptions, withJournal, withRehearsal } from '../open-store.js'
import { openingLines } from '../opening-lines.js'
import { report } from '../report.js'

/** Seals the segment in use and writes a checkpoint of all that is sealed. */
export async function run(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = storeOptions(input, io)
  const facts = dryRun
    ? withRehearsal(options, rehearsed)
    : ((await asked(storePaths(options.storeDir), io)) ?? withJournal(options, written))
  const verb = dryRun ? 'would write' : 'wrote'
  const made = facts.checkpoint_seq > facts.previous_checkpoint_seq
  report(input, io, facts, [
    made
      ? `${verb} a checkpoint at seq ${facts.checkpoint_seq} of ${facts.entities} live entities (the one before: seq ${facts.previous_checkpoint_seq})`
      : 'no checkpoint was written: records before the first segment are missing, so it would be wrong',
    ...openingLines(facts.opening),
  ])
  return made ? 0 : 1
}

interface Facts {
  readonly dry_run: boolean
  readonly head_seq: number
  readonly previous_checkpoint_seq: number
  readonly checkpoint_seq: number
  readonly entities: number
  readonly opening?: readonly RehearsedChange[]
}

/** By the producer that holds the store, if one does. */
async function asked(paths: StorePaths, io: Io): Promise<Facts | undefined> {
  const done = await doneByProducer(paths, 'checkpoint', io)
  if (done === undefined) return undefined
  const { head_seq: checkpointSeq, previous_head_seq: previous, entities } = done.result
  return {
    dry_run: false,
    head_seq: done.seq,
    previous_checkpoint_seq: Number(previous ?? 0),
    checkpoint_seq: Number(checkpointSeq),
    entities: Number(entities ?? 0),
  }
}

function written(journal: Journal): Facts {
  const before = journal.checkpointSeq
  const headSeq = journal.head.seq
  journal.checkpoint()
  return {
    dry_run: false,
    head_seq: headSeq,
    previous_checkpoint_seq: before,
    checkpoint_seq: journal.checkpointSeq,
    entities: journal.state.size,
  }
}

/** Without the checkpoint itself, which may be larger than what a rehearsal should hold. */
function rehearsed(journal: Journal, opening: readonly RehearsedChange[]): Facts {
  const previous = journal.checkpointSeq
  const headSeq = journal.head.seq
  journal.roll()
  // The record that a new segment begins with is the first one that the checkpoint does not cover.
  const sealedSeq = journal.head.seq - 1
  return {
    dry_run: true,
    head_seq: headSeq,
    previous_checkpoint_seq: previous,
    checkpoint_seq: journal.history.isWhole ? sealedSeq : previous,
    entities: journal.state.size,
    opening,
  }
}
