/** Replaces a file whole or not at all: after a crash the old bytes or the new ones are there, never a part of either. */
import { dirname } from 'node:path'
import { KimError } from './errors.js'

/** The calls of a disk that replacing a file takes. Each throws what the system says. */
export interface ReplaceDisk<F> {
  /** Creates a file for its owner alone (0600) and opens it for writing. Throws `EEXIST` if the path is taken. */
  create(path: string): F
  /** Appends; returns how many bytes the disk took, which may be fewer. */
  write(file: F, bytes: Uint8Array): number
  /** Makes the bytes of a file durable. Left out where losing the new file costs nothing. */
  sync?(file: F): void
  close(file: F): void
  rename(from: string, to: string): void
  remove(path: string): void
  /** Makes the names in a directory durable. Left out where the old file may come back after a loss of power. */
  syncDirectory?(path: string): void
}

/** The same calls for a host that must not wait for its disk. */
export type AsyncReplaceDisk<F> = {
  [Call in keyof ReplaceDisk<F>]: ReplaceDisk<F>[Call] extends
    | ((...args: infer Args) => infer Answer)
    | undefined
    ? (...args: Args) => Promise<Answer>
    : never
}

/** What to write, and where. */
export interface Replacement {
  readonly target: string
  /** The path of the bytes until they are complete: in the same directory, and used by no other writer. */
  readonly draft: string
  readonly chunks: Iterable<Uint8Array>
}

/** Replaces a file. On failure the target is as it was, unless only its directory could not be synced. */
export function replaceFile<F>(disk: ReplaceDisk<F>, replacement: Replacement): void {
  const steps = replacing(disk, replacement)
  let step = steps.next()
  while (step.done !== true) step = steps.next(step.value)
}

/** Replaces a file in the same steps, and waits for each. */
export async function replaceFileAsync<F>(
  disk: AsyncReplaceDisk<F>,
  replacement: Replacement,
): Promise<void> {
  const steps = replacing(disk, replacement)
  let step = steps.next()
  while (step.done !== true) {
    const answer = await Promise.allSettled([step.value])
    step = answer[0].status === 'fulfilled' ? steps.next(answer[0].value) : steps.throw(answer[0].reason)
  }
}

/** A step hands out what a call returned, which may be a promise, and is continued with the answer. */
type Steps<T> = Generator<unknown, T, unknown>

function* replacing<F>(
  disk: ReplaceDisk<F> | AsyncReplaceDisk<F>,
  { target, draft, chunks }: Replacement,
): Steps<void> {
  const file: F = yield* created(disk, draft)
  let isOpen = true
  try {
    for (const chunk of chunks) yield* writeAll(disk, file, chunk)
    if (disk.sync !== undefined) yield* answerTo<void>(disk.sync(file))
    isOpen = false
    yield* answerTo<void>(disk.close(file))
    yield* answerTo<void>(disk.rename(draft, target))
  } catch (error) {
    if (isOpen) yield* regardless(() => disk.close(file))
    yield* regardless(() => disk.remove(draft))
    throw error
  }
  if (disk.syncDirectory !== undefined) yield* answerTo<void>(disk.syncDirectory(dirname(target)))
}

/** A draft that is there already was left by a writer that died, because each writer has a name of its own for it. */
function* created<F>(disk: ReplaceDisk<F> | AsyncReplaceDisk<F>, draft: string): Steps<F> {
  try {
    return yield* answerTo<F>(disk.create(draft))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  yield* answerTo<void>(disk.remove(draft))
  return yield* answerTo<F>(disk.create(draft))
}

function* writeAll<F>(disk: ReplaceDisk<F> | AsyncReplaceDisk<F>, file: F, bytes: Uint8Array): Steps<void> {
  for (let done = 0; done < bytes.length; ) {
    const taken = yield* answerTo<number>(disk.write(file, bytes.subarray(done)))
    if (taken === 0)
      throw new KimError('store_full', `the disk is full: only ${done} of ${bytes.length} bytes were written`)
    done += taken
  }
}

/** The first failure says why; what follows from it must not hide it. */
function* regardless(call: () => void | Promise<void>): Steps<void> {
  try {
    yield* answerTo<void>(call())
  } catch {
    // The first failure is thrown.
  }
}

function* answerTo<T>(answer: T | Promise<T>): Steps<T> {
  return (yield answer) as T
}
