/**
 * Takes each step, also after one that failed, and then throws the first failure: what fails later is often only a
 * consequence, and must hide neither the cause nor a step.
 */
export function everyStep(...steps: readonly (() => void)[]): void {
  const failures: unknown[] = []
  for (const step of steps) {
    try {
      step()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** Takes a step after a failure that is about to be thrown; whatever becomes of it must not hide that failure. */
export function regardless(step: () => void): void {
  try {
    step()
  } catch {
    // The first failure says why.
  }
}

/** Waits for all, and then rejects with the first that failed. */
export async function everyEnd(ends: readonly Promise<void>[]): Promise<void> {
  for (const end of await Promise.allSettled(ends)) if (end.status === 'rejected') throw end.reason
}
