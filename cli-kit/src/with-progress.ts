import type { Io } from './flag-table.js'
import { startProgress } from './progress-bar.js'

/** What a long pass over bytes takes: where to say how far it is, and when to end. */
interface PassControl {
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void
}

/** Runs a long pass over bytes with its progress on stderr. */
export async function withProgress<T>(
  io: Io,
  label: string,
  pass: (control: PassControl) => Promise<T>,
): Promise<T> {
  const progress = startProgress({ label, unit: 'bytes', stream: io.stderr })
  try {
    return await pass({ signal: io.signal, onProgress: ({ done, total }) => progress.update(done, total) })
  } finally {
    progress.end()
  }
}
