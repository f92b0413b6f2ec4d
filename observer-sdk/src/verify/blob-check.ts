import type { PayloadRef } from '@kim/manifest'
import { checkBlob } from '../store/blobs.js'
import type { FindingLocation, FindingLog } from './findings.js'
import type { PassPacer } from './pace.js'

/** Blob closure: every payload that a retained record keeps in a blob is there, whole and unchanged. */
export class BlobCheck {
  readonly #log: FindingLog
  readonly #refs = new Map<string, { readonly ref: PayloadRef; readonly place: FindingLocation }>()

  constructor(log: FindingLog) {
    this.#log = log
  }

  /** A record or a checkpoint line that keeps its payload in a blob. */
  ref(ref: PayloadRef, place: FindingLocation): void {
    const key = `${ref.sha256} ${ref.bytes}`
    if (!this.#refs.has(key)) this.#refs.set(key, { ref, place })
  }

  /** Reads every blob once. */
  async end(eventsDir: string, pace: PassPacer): Promise<void> {
    for (const { ref, place } of this.#refs.values()) {
      const fault = checkBlob(eventsDir, ref)
      if (fault !== undefined) {
        const kind =
          fault.reason === 'absent'
            ? 'blob_missing'
            : fault.reason === 'mismatch'
              ? 'blob_mismatch'
              : 'unreadable'
        this.#log.report(kind, place, `blob ${ref.sha256}, ${ref.bytes} bytes: ${fault.code}`)
      }
      await pace.turn(ref.bytes)
    }
  }
}
