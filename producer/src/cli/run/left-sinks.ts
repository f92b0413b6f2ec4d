import { homedir } from 'node:os'
import { type Io, shellWord } from '@kim/cli-kit'
import type { Journal } from '../../journal/journal.js'
import type { RunLog } from '../../run/run-log.js'
import type { SinkStatus } from '../../sinks/sink.js'
import { sinksOf } from '../status/sinks.js'

/** Names the sinks that began on this journal and that no flag names any more: whoever follows them hears nothing. */
export function sayLeftSinks(
  { projectId, head }: Journal,
  configured: readonly SinkStatus[],
  log: RunLog,
  { env }: Io,
): void {
  const all = sinksOf(env, homedir(), { projectId, headSeq: head.seq }, { sinks: configured })
  for (const { identity, state, file } of all) {
    if (state !== 'idle') continue
    log({
      level: 'warn',
      code: 'sink_left',
      message: `${identity}: the sink is no longer configured and receives no events`,
      hint: `its watermark is kept; start with its flag to continue, or delete the watermark: rm ${shellWord(file)}`,
    })
  }
}
