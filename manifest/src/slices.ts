/** Long work between the host's own turns of the event loop. */

/** Work in slices of a few milliseconds: between two of them something else may be done. */
export type Slices<T> = Generator<void, T>

/** Does all of it before it returns. */
export function runAtOnce<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}

/** Resolves in a later turn of the event loop; rejects with the signal's reason if it was aborted by then. */
export function nextTurn(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setImmediate(() => (signal?.aborted === true ? reject(signal.reason) : resolve()))
  })
}
