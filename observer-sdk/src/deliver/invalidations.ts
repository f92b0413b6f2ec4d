import { type Impact, ImpactSet } from '../project/impact.js'

/** Tells hosts that only redraw that something is stale: at most once a turn, with all that came together. */
export class Invalidations {
  readonly #callbacks = new Set<(impact: Impact) => void>()
  readonly #onBug: (bug: unknown) => void
  #stale = new ImpactSet()
  #due: NodeJS.Immediate | undefined

  constructor(onBug: (bug: unknown) => void) {
    this.#onBug = onBug
  }

  /** Adds a listener; what is returned removes it. */
  add(callback: (impact: Impact) => void): () => void {
    // A function of its own: one callback given twice is called twice and removed once.
    const own = (impact: Impact): void => callback(impact)
    this.#callbacks.add(own)
    return () => {
      this.#callbacks.delete(own)
    }
  }

  /** This is stale. */
  announce(impact: Impact): void {
    if (this.#callbacks.size === 0) return
    this.#stale.addAll(impact)
    this.#due ??= setImmediate(() => this.#tell())
  }

  /** Nobody is told any more. */
  close(): void {
    this.#callbacks.clear()
    clearImmediate(this.#due)
  }

  #tell(): void {
    this.#due = undefined
    const impact = this.#stale.toImpact()
    this.#stale = new ImpactSet()
    for (const callback of this.#callbacks) {
      try {
        callback(impact)
      } catch (bug) {
        this.#onBug(bug)
      }
    }
  }
}
