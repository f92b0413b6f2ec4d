/** Why a file or directory of the store could not be read. */
export interface ReadFailure {
  readonly ok: false
  /** `absent`: nothing has that name. `unreadable`: something has, and it cannot be read as what it should be. */
  readonly reason: 'absent' | 'unreadable'
  readonly path: string
  /** The system's error code, or `not_regular`, `symlink`, `bad_gzip`, `too_large`, `no_journal`. */
  readonly code: string
}

/** What a look into the store returns: absence and damage are answers, not exceptions. */
export type ReadResult<T> = { readonly ok: true; readonly value: T } | ReadFailure

/** Wraps a value that was read. */
export function found<T>(value: T): ReadResult<T> {
  return { ok: true, value }
}

/** Names something that exists but cannot be read. */
export function unreadable(path: string, code: string): ReadFailure {
  return { ok: false, reason: 'unreadable', path, code }
}

/** Turns a thrown file-system error into the answer it stands for. */
export function readFailureOf(path: string, error: unknown): ReadFailure {
  const code = codeOf(error)
  return { ok: false, reason: code === 'ENOENT' ? 'absent' : 'unreadable', path, code }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'EUNKNOWN'
}
