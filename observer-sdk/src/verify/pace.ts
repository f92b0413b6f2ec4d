import { nextTurn } from '@kim/manifest'
import { type FileContent, openCheckpoint, openSegment } from '../store/file-content.js'
import type { StoreListing } from '../store/listing.js'
import type { ReadResult } from '../store/read-only-fs.js'

/** How far a pass has come. */
export interface PassProgress {
  /** Bytes of files read so far. */
  readonly done: number
  /** Bytes of files to be read in all. */
  readonly total: number
}

/** How a caller watches a pass over a journal, and ends it. */
export interface PassControl {
  /** Called after each slice of work. */
  readonly onProgress?: ((progress: PassProgress) => void) | undefined
  /** Ends the pass early; its promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** What a caller may ask of a pass over a journal. */
export interface PassOptions extends PassControl {
  /** The journal directory: `<store>/events`, or a copy of it. */
  readonly eventsDir: string
}

/** Bytes of small work done before the event loop gets its turn. */
const sliceBytes = 256 * 1024

/** Cuts a long pass into slices, so that the process stays responsive, and says how far it is. */
export class PassPacer {
  readonly #control: PassControl
  #done = 0
  #total = 0
  #sinceTurn = 0

  constructor(control: PassControl) {
    this.#control = control
  }

  /** Adds work to what is to be done. */
  expect(bytes: number): void {
    this.#total += bytes
  }

  /** Counts work that was expected as done. */
  advance(bytes: number): void {
    this.#done += bytes
  }

  /** Some work was done, expected or not; once it is a slice, others get their turn. */
  async turn(bytes: number): Promise<void> {
    this.#sinceTurn += bytes
    if (this.#sinceTurn < sliceBytes) return
    this.#sinceTurn = 0
    await nextTurn(this.#control.signal)
    this.#report()
  }

  /** All is done. */
  finish(): void {
    this.#done = this.#total
    this.#report()
  }

  #report(): void {
    this.#control.onProgress?.({ done: Math.min(this.#done, this.#total), total: this.#total })
  }
}

/** Bytes on disk of all segments. */
export function segmentBytes(eventsDir: string, { segments }: StoreListing): number {
  return segments.reduce((sum, { number }) => sum + storedBytesOf(openSegment(eventsDir, number)), 0)
}

/** Bytes on disk of all checkpoints. */
export function checkpointBytes(eventsDir: string, { checkpoints }: StoreListing): number {
  return checkpoints.reduce((sum, { headSeq }) => sum + storedBytesOf(openCheckpoint(eventsDir, headSeq)), 0)
}

/** Bytes on disk of a file that was opened for this; 0 if it was not. */
export function storedBytesOf(opened: ReadResult<FileContent>): number {
  if (!opened.ok) return 0
  const { storedBytes } = opened.value
  opened.value.close()
  return storedBytes
}
