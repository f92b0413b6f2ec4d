/** A bug of ours: the program has broken its own promise. Never thrown for what the world does to us. */
export class InvariantError extends Error {
  override readonly name: string = 'InvariantError'
}

/** Throws if a condition that only our own code can break is broken. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}
