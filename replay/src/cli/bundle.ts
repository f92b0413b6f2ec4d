import {
  formatBytes,
  formatCount,
  type Input,
  type Io,
  printReport,
  safeText,
  withProgress,
} from '@kim/cli-kit'
import { type BundlePlan, planBundle, writeBundle } from '../bundle/write-bundle.js'
import { writeOut } from '../output/out-file.js'
import { openCopy } from '../reading.js'
import { outPath, parseRedactMode, replayEventsDir, seqRangeOf, sourceDateMs } from './input.js'

/** CL-47: a slice for a report. */
export async function run(input: Input, io: Io): Promise<number> {
  const eventsDir = replayEventsDir(input, io)
  const out = outPath(input, eventsDir)
  const mode = parseRedactMode(input)
  const range = seqRangeOf(input)
  const isDry = input.bool('dry-run')
  const history = openCopy(eventsDir)
  const plan = await withProgress(io, 'bundle: look', control =>
    planBundle(history, range, mode, sourceDateMs(io), control),
  )
  if (!isDry)
    await withProgress(io, 'bundle: write', control =>
      writeOut(out, file => writeBundle(history, plan, file, control)),
    )
  const { manifest, slice, blobsMissing } = plan
  const report = {
    ...manifest,
    blobs_missing: blobsMissing,
    dry_run: isDry,
    holes: slice.holes,
    out,
    unreadable: slice.failures,
  }
  printReport(io, input.bool('json'), report, textOf(plan, out, isDry))
  for (const { from, to } of slice.holes.slice(0, FILES_SHOWN))
    io.stderr.write(`kim-replay: missing in the journal: seq ${from === to ? from : `${from} to ${to}`}\n`)
  if (slice.failures.length > 0 || blobsMissing.length > 0) {
    for (const failure of slice.failures)
      io.stderr.write(`kim-replay: not in the bundle, cannot be read: ${safeText(failure)}\n`)
    for (const sha256 of blobsMissing)
      io.stderr.write(`kim-replay: not in the bundle, missing or damaged: blob ${sha256}\n`)
    return 6
  }
  return 0
}

const FILES_SHOWN = 20

function textOf({ manifest, mode }: BundlePlan, out: string, isDry: boolean): string[] {
  const { range, records, files } = manifest
  const shown =
    mode === 'none' ? 'nothing redacted' : mode === 'all' ? 'names and bodies redacted' : 'bodies redacted'
  const size = files.reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    `${isDry ? 'would write' : 'wrote'} ${out}: ${formatCount(records, 'record')}, seq ${range.from_seq} to ${range.to_seq}, ${shown}`,
    `  ${formatCount(files.length, 'file')}, ${formatBytes(size)} unpacked`,
    ...files
      .slice(0, FILES_SHOWN)
      .map(
        ({ path, bytes, sha256 }) => `  ${sha256.slice(0, 12)}  ${formatBytes(bytes).padStart(9)}  ${path}`,
      ),
    ...(files.length > FILES_SHOWN ? [`  and ${files.length - FILES_SHOWN} more`] : []),
  ]
}
