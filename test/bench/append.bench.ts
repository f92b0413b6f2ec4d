/**
 * What it costs to be told that a record is durable, beside the least that it can cost: one write and one sync of as
 * many bytes, on the same disk, in the same run. `--tiny` only shows that the bench runs; `--json` is for machines.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fullSizes, measureAppends, measureCheckpoints, tinySizes } from './append-load.js'

const SINGLE_RATIO_MAX = 1.3
const BATCH_RATE_MIN = 100_000
const WAIT_MS_MAX = 100

const isTiny = process.argv.includes('--tiny')
const sizes = isTiny ? tinySizes : fullSizes

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ??
  Number.NaN
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const round = (value: number, digits = 3): number => Number(value.toFixed(digits))

const root = mkdtempSync(join(tmpdir(), 'kim-bench-append-'))
try {
  const single = measureAppends(root, 'single', sizes.singles, 1)
  const batch = measureAppends(root, 'batch', sizes.batches, sizes.batchRecords)
  const checkpoint = measureCheckpoints(root, sizes.live)

  const ratio = quantile(single.ours, 0.5) / quantile(single.raw, 0.5)
  const records = sizes.batches * sizes.batchRecords
  const rate = (records / sum(batch.ours)) * 1000
  const waitMax = quantile(checkpoint.waits, 1)
  const met = {
    single: ratio <= SINGLE_RATIO_MAX,
    batch: rate >= BATCH_RATE_MIN,
    wait: waitMax <= WAIT_MS_MAX,
  }
  const result = {
    bench: 'append',
    line_bytes: single.lineBytes,
    load: round(loadavg()[0] ?? 0, 1),
    cores: availableParallelism(),
    single: {
      count: sizes.singles,
      raw_p50_ms: round(quantile(single.raw, 0.5)),
      p50_ms: round(quantile(single.ours, 0.5)),
      raw_p99_ms: round(quantile(single.raw, 0.99)),
      p99_ms: round(quantile(single.ours, 0.99)),
      ratio: round(ratio, 2),
      ratio_max: SINGLE_RATIO_MAX,
      met: met.single,
    },
    batch: {
      count: sizes.batches,
      records: sizes.batchRecords,
      raw_per_s: round((records / sum(batch.raw)) * 1000, 0),
      per_s: round(rate, 0),
      p50_ms: round(quantile(batch.ours, 0.5)),
      raw_p50_ms: round(quantile(batch.raw, 0.5)),
      per_s_min: BATCH_RATE_MIN,
      met: met.batch,
    },
    checkpoint: {
      live: checkpoint.live,
      built: checkpoint.checkpoints,
      appends: checkpoint.appends.length,
      append_p99_ms: round(quantile(checkpoint.appends, 0.99)),
      append_max_ms: round(quantile(checkpoint.appends, 1)),
      wait_p99_ms: round(quantile(checkpoint.waits, 0.99)),
      wait_max_ms: round(waitMax),
      wait_max_ms_max: WAIT_MS_MAX,
      met: met.wait,
    },
  }
  if (process.argv.includes('--json')) console.log(JSON.stringify(result))
  else console.log(table(result))
  if (!isTiny && !(met.single && met.batch && met.wait)) process.exitCode = 1

  function table({ single, batch, checkpoint, line_bytes, load, cores }: typeof result): string {
    const verdict = (isMet: boolean): string => (isMet ? 'ok' : 'MISS')
    const rows = [
      [`what, with lines of ${line_bytes} bytes`, 'raw', 'ours', 'target', ''],
      [
        `single, p50 of ${single.count}`,
        `${single.raw_p50_ms} ms`,
        `${single.p50_ms} ms = ${single.ratio} x`,
        `<= ${single.ratio_max} x`,
        verdict(single.met),
      ],
      [`single, p99`, `${single.raw_p99_ms} ms`, `${single.p99_ms} ms`, '', ''],
      [
        `${batch.count} batches of ${batch.records}, synced`,
        `${batch.raw_per_s} /s`,
        `${batch.per_s} /s`,
        `>= ${batch.per_s_min} /s`,
        verdict(batch.met),
      ],
      [`batch, p50`, `${batch.raw_p50_ms} ms`, `${batch.p50_ms} ms`, '', ''],
      [
        `wait during ${checkpoint.built} checkpoints, ${checkpoint.live} live`,
        '',
        `max ${checkpoint.wait_max_ms} ms`,
        `<= ${checkpoint.wait_max_ms_max} ms`,
        verdict(checkpoint.met),
      ],
      [
        `the same, p99 of ${checkpoint.appends}`,
        '',
        `${checkpoint.wait_p99_ms} ms (append alone ${checkpoint.append_p99_ms})`,
        '',
        '',
      ],
    ]
    const widths = [0, 1, 2, 3].map(column => Math.max(...rows.map(row => row[column]?.length ?? 0)))
    const lines = rows.map(row =>
      `  ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}`.trimEnd(),
    )
    return [`append  load ${load} on ${cores} cores`, ...lines].join('\n')
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
