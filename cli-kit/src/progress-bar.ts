import { formatBytes, formatDuration } from './quantity.js'

/** Reports long work on a terminal: share done, rate and time left. Silent where stderr is not a terminal. */
export interface ProgressBar {
  update(done: number, total: number): void
  /** Clears the line, so that results do not stand beside a stale one. */
  end(): void
}

/** What is counted. */
type Unit = 'bytes' | 'records' | 'events'

interface ProgressOptions {
  readonly label: string
  readonly unit: Unit
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly now?: () => number
}

/** At most ten redraws a second: the terminal is not what the work should wait for. */
const REDRAW_MS = 100

/** Progress for one piece of work that starts now. */
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
