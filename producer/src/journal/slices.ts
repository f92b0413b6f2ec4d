/** Work in slices of a few milliseconds: between two of them the writer may do something else. */
export type Slices<T> = Generator<void, T>

/** Does all of it at once. */
export function runToEnd<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}
