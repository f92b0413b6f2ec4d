import { setImmediate } from 'node:timers/promises'

/** Gives others their turn between two pieces of work, and ends here if that is asked for. */
export async function breathe(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate()
  signal?.throwIfAborted()
}
