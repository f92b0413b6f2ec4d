import { signalledCode } from './flow/end.js'

/** How long a reader has to take what is on its way to it. */
const GRACE_MS = 5000

/**
 * Ends the process a while after a signal did not, where nobody reads what it prints: what was not taken is not
 * committed, and a supervisor need not kill.
 */
export function exitWhenStdoutStalls(signals: readonly NodeJS.Signals[]): void {
  const leave = (signal: NodeJS.Signals): void => {
    if (process.stdout.writableLength > 0) process.exit(signalledCode(signal))
  }
  for (const signal of signals) process.once(signal, () => setTimeout(leave, GRACE_MS, signal).unref())
}
