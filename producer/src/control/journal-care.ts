import { checkpointName, type JsonObject, KimError } from '@kim/manifest'
import type { Turn } from '../effects/turn.js'
import type { Journal } from '../journal/journal.js'
import type { ControlVerbs } from './verbs.js'

/** The verbs that take care of an open journal, done in slices so that nothing waits behind them. */
export function journalCare(
  journal: Journal,
  turn: Turn,
): Pick<ControlVerbs, 'headSeq' | 'checkpoint' | 'gc'> {
  const pause = (): Promise<void> => new Promise(resolve => turn.soon(resolve))
  return {
    headSeq: () => journal.head.seq,
    checkpoint: async () => {
      const before = journal.checkpointSeq
      journal.roll()
      while (journal.upkeep()) await pause()
      const { checkpointSeq } = journal
      if (checkpointSeq <= before) throw notWritten(journal)
      return {
        file: checkpointName(checkpointSeq),
        head_seq: checkpointSeq,
        previous_head_seq: before,
        entities: journal.state.size,
      }
    },
    gc: async (dryRun): Promise<JsonObject> => {
      const { segments, checkpoints } = dryRun ? journal.gcPlan() : journal.gc()
      return { moved: [...segments, ...checkpoints] }
    },
  }
}

function notWritten(journal: Journal): KimError {
  if (!journal.isSettled) return new KimError('store_full', 'cannot write the checkpoint: the disk is full')
  return journal.history.isWhole
    ? new KimError('store_failed', 'the checkpoint was postponed; the log of the producer shows the cause')
    : new KimError('store_damaged', 'cannot write a checkpoint: records before the first segment are missing')
}
