import { KimError } from '@kim/manifest'

interface Waiter {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (reason: KimError) => void
}

/** Those who wait for a seq to be applied. */
export class SeqWaiters {
  #waiters: Waiter[] = []
  #closed = false

  /** Resolves once the head has come to `seq`; rejects when the observer is closed before. */
  wait(seq: number, head: number): Promise<void> {
    if (head >= seq) return Promise.resolve()
    if (this.#closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiters.push({ seq, resolve, reject })
    })
  }

  /** The head is here now. */
  reach(head: number): void {
    if (this.#waiters.length === 0) return
    const due = this.#waiters.filter(({ seq }) => seq <= head)
    if (due.length === 0) return
    this.#waiters = this.#waiters.filter(({ seq }) => seq > head)
    for (const { resolve } of due) resolve()
  }

  /** Nothing more will come. */
  close(): void {
    this.#closed = true
    for (const { reject } of this.#waiters.splice(0)) reject(closedError())
  }
}

function closedError(): KimError {
  return new KimError('observer_closed', 'the observer was closed before that seq was applied')
}
