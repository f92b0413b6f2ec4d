/** The process behind `kim-tail`. */
import { runProcess, SIGNAL_EXIT } from '@kim/cli-kit'
import { tailProgram } from './program.js'

// A terminal that closes ends the process as other signals do: the command of --exec and a reading agent are told.
const ENDED_BY = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/** How long a reader has to take what was already written to it. */
const GRACE_MS = 5000

// If nothing reads stdout, the process would not end by the signal. Output that was not taken is not committed.
for (const signal of ENDED_BY) {
  const leave = (): void => {
    if (process.stdout.writableLength > 0) process.exit(SIGNAL_EXIT[signal])
  }
  process.once(signal, () => setTimeout(leave, GRACE_MS).unref())
}
await runProcess(tailProgram, ENDED_BY)
