/** A clock that stands still until it is told to move; wall time may jump, monotonic time never goes back. */
export class SimClock {
  #wall: number
  #mono: number
  #bootOffset: number

  constructor(wall = Date.UTC(2026, 5, 10, 14, 0, 0), mono = 1000) {
    this.#wall = wall
    this.#mono = mono
    this.#bootOffset = 5000
  }

  wallMs(): number {
    return this.#wall
  }

  monoMs(): number {
    return this.#mono
  }

  bootMs(): number {
    return this.#mono + this.#bootOffset
  }

  /** Time passes: both clocks move on. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('time does not pass backwards')
    this.#wall += ms
    this.#mono += ms
  }

  /** The host sleeps: the wall clock and the time since boot go on, the monotonic clock stands. */
  suspend(ms: number): void {
    if (!(ms >= 0)) throw new RangeError('a sleep cannot be negative')
    this.#wall += ms
    this.#bootOffset += ms
  }

  /** Somebody sets the wall clock, forwards or back. */
  jumpWall(ms: number): void {
    this.#wall += ms
  }
}
