import type { BytePosition } from './byte-position.js'
import type { JournalDirectory, Tip } from './directory.js'
import type { Batch } from './journal-reader.js'

/** What is known of a batch that some observer of this process read. */
interface Shared {
  /** Identity of the directory. */
  readonly directory: string
  readonly from: BytePosition
  /** Identity of the one live segment that it was read from, and how far. */
  readonly file: string
  readonly readTo: number
  readonly bytesMax: number
  /** Its reader keeps it for a while; nobody else keeps it alive. */
  readonly batch: WeakRef<Batch>
}

/** Observers that follow one writer are a batch or two apart. */
const KEPT = 16

/** By the offset of the place they begin at, which mostly tells them apart: it is asked at every look, and mostly in vain. */
const shared = new Map<number, Shared>()

/**
 * Keeps a batch for the other observers of this process: twenty panels of one editor see the same lines, and reading
 * and parsing them once is enough. Records are frozen, so nobody can tell.
 */
export function shareBatch(
  directory: JournalDirectory,
  batch: Batch,
  bytesMax: number,
  file: string,
  readTo: number,
): void {
  if (directory.identity === undefined) return
  const { from } = batch
  shared.delete(from.offset)
  shared.set(from.offset, {
    directory: directory.identity,
    from,
    file,
    readTo,
    bytesMax,
    batch: new WeakRef(batch),
  })
  if (shared.size > KEPT) for (const oldest of shared.keys()) return void shared.delete(oldest)
}

/**
 * What another observer read from this place, if the file is still the one that it was read from: bytes of a segment
 * never change, so it is what reading them again would give.
 */
export function sharedBatch(
  directory: JournalDirectory,
  from: BytePosition,
  bytesMax: number,
  tip: Tip | undefined,
): Batch | undefined {
  const found = shared.get(from.offset)
  if (
    found === undefined ||
    found.from.segment !== from.segment ||
    found.from.peak !== from.peak ||
    found.bytesMax > bytesMax ||
    found.directory !== directory.identity
  )
    return undefined
  const batch = found.batch.deref()
  if (batch === undefined) return undefined
  const now = directory.segmentNow(from.segment, tip)
  if (now?.identity !== found.file || now.size < found.readTo) return undefined
  const known = directory.known.get(from.segment)
  if (known !== undefined && known !== found.file) return undefined
  directory.known.set(from.segment, found.file)
  // What came since is read by the next call, which nothing else would ask for.
  const isMore = now.size > found.readTo || directory.after(from.segment) !== undefined
  return isMore && !batch.more ? { ...batch, more: true } : batch
}

/** Gives what was read of a directory to nobody any more: bytes that were cut off may have others in their place. */
export function forgetBatches({ identity }: JournalDirectory): void {
  for (const [offset, { directory }] of shared) if (directory === identity) shared.delete(offset)
}
