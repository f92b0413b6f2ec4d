import { shellWord } from '@kim/cli-kit'
import { type ErrorCode, KimError } from '@kim/manifest'
import { resolveExisting } from '../effects/system.js'

/** What the system calls a full disk, a full quota included. */
const FULL = new Set(['ENOSPC', 'EDQUOT'])
const KEPT = 'recorded mail is safe'
const DENIED = new Set(['EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EFTYPE'])

/** What to do before the numbers of the records run out. */
export const WIDER_SEQ = 'install a version of KIM that offers a wider seq (spec/compatibility.md)'

/** A typed error whose hint says what happened, what was kept and what to do next. */
export function failure(code: ErrorCode, message: string, hint: string, cause?: unknown): KimError {
  return new KimError(code, message, cause === undefined ? { hint } : { hint, cause })
}

/** There is no room. No confirmed record is lost; the writer continues when space returns. */
export function noSpace(message: string, cause?: unknown): KimError {
  return failure(
    'store_full',
    message,
    `${KEPT}; free some disk space. A running producer then continues by itself; run any other command again`,
    cause,
  )
}

/** The path holds something that no store of ours may contain. */
export function unsafe(
  path: string,
  why: string,
  remedy = 'move it away, or choose another store: --store DIR',
): KimError {
  return failure('not_permitted', `${path}: ${why}`, `nothing was changed; ${remedy}`)
}

/** Somebody else's file may be this one's, copied or made by root: it is kept, and given back with one command. */
export function foreignOwner(path: string, owner: number, uid: number, isDirectory = false): KimError {
  return unsafe(
    path,
    `it belongs to user ${owner}, not to user ${uid}`,
    ownerRemedy(path, owner, uid, isDirectory),
  )
}

/** What to do about a file of the store that has another owner; all of it is in the journal, so none is taken away. */
export function ownerRemedy(path: string, owner: number, uid: number, isDirectory: boolean): string {
  const mine = `${uid} ${shellWord(path)}`
  const command = isDirectory ? `chown -R ${mine}` : `chown ${mine} (chown -R for all of a store)`
  return `if it is theirs, run as user ${owner}; if it is yours: sudo ${command}`
}

/** What to do about a link in the place of the store. */
export function linkRemedy(path: string): string {
  return `KIM does not follow a link here; name the directory itself: --store ${shellWord(resolveExisting(path))}`
}

/** After a failed sync it is unknown what the disk holds. */
export function syncFailed(message: string, cause: unknown): KimError {
  return failure(
    'store_failed',
    message,
    `${KEPT}; the process must end; start it again: opening checks what the disk holds`,
    cause,
  )
}

/** The file is not as this process left it. */
export function fenced(message: string): KimError {
  return failure(
    'store_fenced',
    message,
    'nothing was appended; find and stop the other program that writes there, then start again',
  )
}

/** The store holds what no crash of ours explains. */
export function damaged(message: string, cause?: unknown): KimError {
  return failure(
    'store_damaged',
    message,
    'nothing was changed; find the damage: kim-producer journal verify; then: kim-producer journal repair (both with the --store of this command)',
    cause,
  )
}

/** Names what a failed call of the system means. An error of another kind passes as it is. */
export function toFailure(error: unknown, doing: string): unknown {
  if (error instanceof KimError || !(error instanceof Error)) return error
  const code = (error as NodeJS.ErrnoException).code
  if (code === undefined) return error
  const message = `cannot ${doing}: ${code}`
  if (FULL.has(code)) return noSpace(message, error)
  if (DENIED.has(code)) {
    const hint = 'nothing was changed; check its type, owner and mode; for a store: kim-producer doctor'
    return failure('not_permitted', message, hint, error)
  }
  return failure(
    'store_failed',
    message,
    HINTS[code] ?? `${KEPT}; read the system log, then start again`,
    error,
  )
}

const HINTS: Readonly<Record<string, string>> = {
  EROFS: 'nothing was changed; the file system is read-only: mount it for writing, then start again',
  EFBIG: `${KEPT}; the file size limit of this process is too low: raise it (ulimit -f, LimitFSIZE= of a unit) above --segment-bytes, then start again`,
}

/** Runs a call of the system; its failure leaves as a typed error. */
export function attempt<T>(doing: string, call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw toFailure(error, doing)
  }
}

/** True for a failure that passes when space returns. */
export function isNoSpace(error: unknown): error is KimError {
  return error instanceof KimError && error.code === 'store_full'
}

/** True for a store that holds what no crash of ours explains. */
export function isDamaged(error: unknown): error is KimError {
  return error instanceof KimError && error.code === 'store_damaged'
}

/** The system's own name for a failure, if it is one. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && !(error instanceof KimError)
    ? (error as NodeJS.ErrnoException).code
    : undefined
}
