import { nextTurn } from '@kim/manifest'

/** How long a slice may last before others get their turn. */
const SLICE_MS = 20

/** The time since others last had their turn. */
export class Slice {
  #began = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MS
  }

  begin(): void {
    this.#began = performance.now()
  }
}

/** Runs to the end unless it is to stop, and then gives nothing. */
export async function inSlices<T>(work: Generator<void, T>, stops: () => boolean): Promise<T | undefined> {
  const slice = new Slice()
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    if (!slice.isOver) continue
    await nextTurn()
    if (stops()) return undefined
    slice.begin()
  }
}
