import type { Io } from './flag-table.js'
import { formatBytes, formatDuration } from './quantity.js'

/** Shows the progress of long work on a terminal: share done, rate and time left. Elsewhere it prints nothing. */
interface ProgressBar {
  update(done: number, total: number): void
  /** Clears the line. */
  end(): void
}

type Unit = 'bytes' | 'records' | 'events'

interface ProgressOptions {
  readonly label: string
  readonly unit: Unit
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly now?: () => number
}

/** The work should not wait for the terminal. */
const REDRAW_MS = 100

/** The progress of work that starts now. */
export function startProgress(options: ProgressOptions): ProgressBar {
  const { label, unit, stream, now = () => performance.now() } = options
  if (stream.isTTY !== true) return { update: () => {}, end: () => {} }
  const started = now()
  let drawn = Number.NEGATIVE_INFINITY
  return {
    update(done, total) {
      const at = now()
      if (at - drawn < REDRAW_MS) return
      drawn = at
      stream.write(
        `\r\u001b[K${progressLine(label, unit, done, total, at - started).slice(0, (stream.columns ?? 80) - 1)}`,
      )
    },
    end() {
      if (drawn !== Number.NEGATIVE_INFINITY) stream.write('\r\u001b[K')
    },
  }
}

/** The text of one progress line. */
export function progressLine(
  label: string,
  unit: Unit,
  done: number,
  total: number,
  elapsedMs: number,
): string {
  const show = (amount: number): string =>
    unit === 'bytes' ? formatBytes(amount) : Math.round(amount).toLocaleString('en-US')
  const percent = total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 100
  const rate = elapsedMs > 0 ? done / (elapsedMs / 1000) : 0
  const left = rate > 0 && done < total ? `, ${formatDuration(((total - done) / rate) * 1000)} left` : ''
  const per = unit === 'bytes' ? '/s' : ` ${unit}/s`
  return `${label} ${percent}% (${show(done)} of ${show(total)}, ${show(rate)}${per}${left})`
}

/** How a long pass over bytes reports its progress, and learns that it should end. */
interface PassControl {
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void
}

/** Runs a long pass over bytes and shows its progress on stderr. */
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
