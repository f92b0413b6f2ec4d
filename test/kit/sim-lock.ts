import type { HeldLock, LockHolder, LockRefused, StoreLock } from '@kim/producer/internal'

/** One machine's lock table: processes that share it exclude each other, and a death sets its locks free. */
export class SimLock implements StoreLock {
  readonly #held = new Map<string, { holder: LockHolder; lost: boolean }>()

  acquire(path: string, holder: LockHolder): HeldLock | LockRefused {
    const present = this.#held.get(path)
    if (present !== undefined) return { held: false, holder: present.holder }
    const mine = { holder, lost: false }
    this.#held.set(path, mine)
    return {
      held: true,
      intact: () => !mine.lost && this.#held.get(path) === mine,
      release: () => {
        if (this.#held.get(path) === mine) this.#held.delete(path)
      },
    }
  }

  /** The holder died: the system releases what it held. */
  freeAll(): void {
    this.#held.clear()
  }

  /** Somebody removed or replaced the lock file under its holder. */
  loseAll(): void {
    for (const lock of this.#held.values()) lock.lost = true
    this.#held.clear()
  }
}
