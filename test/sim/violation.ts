/** The journal broke a promise, or the code under test did what no caller may see. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

/** Ends the seed unless it holds. */
export function expect(condition: boolean, message: () => string): void {
  if (!condition) throw new Violation(message())
}
