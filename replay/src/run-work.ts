import { nextTurn } from '@kim/manifest'

/** Runs work to its end, and gives others their turn at each step, so that it can be ended early. */
export async function runWork<T>(work: Generator<void, T>, signal: AbortSignal | undefined): Promise<T> {
  let step = work.next()
  while (step.done !== true) {
    await nextTurn(signal)
    step = work.next()
  }
  return step.value
}
