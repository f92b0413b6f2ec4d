/**
 * Seeded pseudo-random numbers (xoshiro128**, seeded through splitmix32), so that a failing run can be
 * replayed from the one number it prints.
 */
export class Prng {
  readonly seed: number
  #s: Uint32Array

  constructor(seed: number) {
    this.seed = seed >>> 0
    this.#s = new Uint32Array(4)
    let state = this.seed
    for (let i = 0; i < 4; i++) {
      state = (state + 0x9e3779b9) >>> 0
      let z = state
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
      this.#s[i] = (z ^ (z >>> 16)) >>> 0
    }
  }

  /** The next 32 random bits. */
  u32(): number {
    const s = this.#s
    const s1 = s[1] as number
    const mixed = Math.imul(s1, 5)
    const result = Math.imul((mixed << 7) | (mixed >>> 25), 9) >>> 0
    const t = (s1 << 9) >>> 0
    s[2] = ((s[2] as number) ^ (s[0] as number)) >>> 0
    s[3] = ((s[3] as number) ^ s1) >>> 0
    s[1] = (s1 ^ (s[2] as number)) >>> 0
    s[0] = ((s[0] as number) ^ (s[3] as number)) >>> 0
    s[2] = ((s[2] as number) ^ t) >>> 0
    const s3 = s[3] as number
    s[3] = ((s3 << 11) | (s3 >>> 21)) >>> 0
    return result
  }

  /** An integer in [0, below). */
  int(below: number): number {
    return below <= 1 ? 0 : Math.floor((this.u32() / 0x1_0000_0000) * below)
  }

  /** An integer in [low, high], both included. */
  between(low: number, high: number): number {
    return low + this.int(high - low + 1)
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.u32() / 0x1_0000_0000 < probability
  }

  /** One element of a non-empty list. */
  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('nothing to pick from')
    return list[this.int(list.length)] as T
  }

  /** One key of a table of weights. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]
    let left = (this.u32() / 0x1_0000_0000) * entries.reduce((sum, [, w]) => sum + w, 0)
    for (const [key, weight] of entries) {
      left -= weight
      if (left < 0) return key
    }
    return (entries.at(-1) as [K, number])[0]
  }

  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string {
    let out = ''
    for (let i = 0; i < bytes; i++) out += (this.u32() >>> 24).toString(16).padStart(2, '0')
    return out
  }
}

/**
 * The seeds a run must try. `KIM_SEED=n` replays exactly one; otherwise `count` seeds from `first`.
 * An unusable `KIM_SEED` is an error, never a silent default.
 */
export function seedsToRun(count: number, first = 1, env: NodeJS.ProcessEnv = process.env): number[] {
  const asked = env['KIM_SEED']
  if (asked !== undefined && asked !== '') {
    if (!/^\d{1,10}$/.test(asked) || Number(asked) > 0xffff_ffff) {
      throw new RangeError(`KIM_SEED must be an integer from 0 to 4294967295, not ${JSON.stringify(asked)}`)
    }
    return [Number(asked)]
  }
  return Array.from({ length: count }, (_, i) => first + i)
}

/** True when the long budgets of `npm run soak` are asked for. */
export function isSoak(env: NodeJS.ProcessEnv = process.env): boolean {
  return env['KIM_SOAK'] === '1'
}
