/** Runs a long piece of work between the host's own turns of the event loop. */

/** How long a slice may last before others get their turn. */
const SLICE_MS = 20

/** Resolves in a later turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Runs to the end before it returns. */
export function atOnce<T>(work: Generator<void, T>): T {
  let step = work.next()
  while (step.done !== true) step = work.next()
  return step.value
}

/** Runs to the end unless it is to stop, and then gives nothing. */
export async function inSlices<T>(work: Generator<void, T>, stops: () => boolean): Promise<T | undefined> {
  let began = performance.now()
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    if (stops()) return undefined
    began = performance.now()
  }
}
