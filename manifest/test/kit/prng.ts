/** Seeded pseudo-random numbers (mulberry32): the seed is printed, so that a failing run can be replayed. */
export class Prng {
  readonly seed: number
  #state: number

  constructor(seed: number) {
    this.seed = seed >>> 0
    this.#state = this.seed
  }

  /** An integer in [0, below). */
  int(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let z = this.#state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return Math.floor((((z ^ (z >>> 14)) >>> 0) / 2 ** 32) * below)
  }

  /** One of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }
}

/** The seed of this run: `KIM_SEED`, else always the same one. */
export function seedOfRun(): number {
  const asked = process.env['KIM_SEED'] ?? '20061'
  if (!/^\d{1,10}$/.test(asked)) throw new RangeError(`KIM_SEED must be a number, not ${asked}`)
  return Number(asked)
}
