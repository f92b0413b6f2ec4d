import type { Input, Io } from '@kim/cli-kit'
import { storeOptions, withJournal } from '../open-store.js'
import { report } from '../report.js'

/** Seals the segment in use and writes a checkpoint of all that is sealed. */
export function run(input: Input, io: Io): number {
  const dryRun = input.bool('dry-run')
  const facts = withJournal(storeOptions(input, io), journal => {
    const before = journal.checkpointSeq
    const headSeq = journal.head.seq
    if (!dryRun) journal.checkpoint()
    const checkpointSeq = dryRun ? headSeq : journal.checkpointSeq
    return {
      dry_run: dryRun,
      head_seq: headSeq,
      previous_checkpoint_seq: before,
      checkpoint_seq: checkpointSeq,
      entities: journal.state.size,
    }
  })
  const verb = dryRun ? 'would write' : 'wrote'
  const made = facts.checkpoint_seq > facts.previous_checkpoint_seq
  report(input, io, facts, [
    made
      ? `${verb} a checkpoint at seq ${facts.checkpoint_seq} of ${facts.entities} live entities (the one before: seq ${facts.previous_checkpoint_seq})`
      : 'no checkpoint was written: history before the first segment is gone, so that none could be true',
  ])
  return made ? 0 : 1
}
