import { limits } from '@kim/manifest'

/** A body under way: what it holds, and how it is given up. */
export interface BudgetedBody {
  readonly bytes: number
  giveUp(): void
}

/**
 * What all bodies under way may hold together. Where that is too much, the largest is given up, of several the one that
 * began first: so inboxes that send much and never end do not take memory, nor their room from an ordinary one (KS-59).
 */
export class BodyBudget {
  readonly #held = new Set<BudgetedBody>()

  /** A body begins. */
  open(body: BudgetedBody): void {
    this.#held.add(body)
  }

  /** It ended, one way or the other. */
  close(body: BudgetedBody): void {
    this.#held.delete(body)
  }

  /** Some body grew. */
  grew(): void {
    let sum = 0
    let largest: BudgetedBody | undefined
    for (const body of this.#held) {
      sum += body.bytes
      if (largest === undefined || body.bytes > largest.bytes) largest = body
    }
    if (sum <= limits.responsesBytesMax || largest === undefined) return
    this.#held.delete(largest)
    largest.giveUp()
    this.grew()
  }
}
