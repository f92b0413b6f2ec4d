import type { Answer, Source } from '@kim/producer/internal'

/** One request as a test answers it. */
export interface HeldRequest {
  readonly kind: 'page' | 'directory' | 'counts'
  readonly signal: AbortSignal
  answer(value: unknown): void
  reject(error: unknown): void
}

/** A server that answers when a test says so. An aborted request is answered at once, as a real source does. */
export class HeldSource implements Source {
  readonly base = 'http://localhost:7474'
  readonly dialect = 'local'
  readonly tokenFrom = undefined
  readonly held: HeldRequest[] = []
  isClosed = false
  tokenChanged: boolean | undefined = false

  page(_query: unknown, signal: AbortSignal): Promise<Answer<never>> {
    return this.#hold('page', signal)
  }

  directory(signal: AbortSignal): Promise<Answer<never>> {
    return this.#hold('directory', signal)
  }

  counts(_query: unknown, signal: AbortSignal): Promise<Answer<never>> {
    return this.#hold('counts', signal)
  }

  reloadToken(): boolean | undefined {
    return this.tokenChanged
  }

  close(): void {
    this.isClosed = true
  }

  #hold(kind: HeldRequest['kind'], signal: AbortSignal): Promise<Answer<never>> {
    return new Promise((resolve, reject) => {
      const answer = (value: unknown): void =>
        resolve({ ok: true, value: value as never, sentMs: 0, receivedMs: 0 })
      this.held.push({ kind, signal, answer, reject })
      signal.addEventListener('abort', () => {
        const failure = { token: 'unreachable', status: undefined, reason: 'unreachable: aborted' } as const
        resolve({ ok: false, failure, sentMs: 0, receivedMs: 0 })
      })
    })
  }
}
