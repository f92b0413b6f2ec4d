import {
  formatCount,
  type Input,
  type Io,
  printReport,
  safeText,
  usageError,
  withProgress,
} from '@kim/cli-kit'
import { jcs } from '@kim/manifest'
import { writeOut } from '../output/out-file.js'
import { openCopy } from '../reading.js'
import { collectTimeline } from '../timeline/collect.js'
import { timelineCsv, timelineMarkdown } from '../timeline/csv-and-markdown.js'
import { timelineHtml } from '../timeline/html.js'
import { caveats, type Timeline } from '../timeline/timeline.js'
import { outPath, parseRedactMode, parseReplayTime, replayEventsDir, sourceDateMs } from './input.js'
import { missingText } from './print.js'

type Writer = (timeline: Timeline) => Iterable<string>

const FORMS: Readonly<Record<string, Writer>> = {
  html: timelineHtml,
  md: timelineMarkdown,
  csv: timelineCsv,
  json: timeline => [`${jcs(timeline)}\n`],
}

/** Small pieces are joined into larger ones, because each write is a call to the system. */
const GATHER_CHARS = 256 * 1024

/** CL-49: one file that shows what happened. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = input.text('output') ?? 'html'
  const eventsDir = replayEventsDir(input, io)
  const out = outPath(input, eventsDir)
  const write = FORMS[form]
  if (write === undefined)
    throw usageError(`-o ${safeText(form)} is not a format`, 'use html, md, json or csv')
  const history = openCopy(eventsDir)
  const [since, until] = [input.text('since'), input.text('until')]
  const asked = { input, io, history }
  const request = {
    fromMs: since === undefined ? Number.NEGATIVE_INFINITY : parseReplayTime(since, '--since', asked),
    toMs: until === undefined ? Number.POSITIVE_INFINITY : parseReplayTime(until, '--until', asked),
    personas: input.list('persona'),
    mode: parseRedactMode(input),
    title: input.text('title') ?? 'Timeline of a journal',
    createdMs: sourceDateMs(io),
  }
  if (request.fromMs > request.toMs)
    throw usageError(`--since ${since} is after --until ${until}`, 'swap them')
  const timeline = await withProgress(io, 'timeline', control => collectTimeline(history, request, control))
  await writeOut(out, async file => {
    let gathered = ''
    for (const piece of write(timeline)) {
      io.signal.throwIfAborted()
      gathered += piece
      if (gathered.length < GATHER_CHARS) continue
      file.write(gathered)
      gathered = ''
    }
    file.write(gathered)
  })
  const { records, lanes, from_seq, to_seq, missing } = timeline
  const text = [
    `wrote ${out}: ${formatCount(records, 'record')} of ${formatCount(lanes.length - 1, 'persona')}`,
    ...caveats(timeline).map(caveat => `  ${caveat}`),
    ...missingText(missing),
  ]
  printReport(
    io,
    input.bool('json'),
    { out, records, from_seq, to_seq, binned: timeline.bins !== null, missing },
    text,
  )
  return exitOf(missing)
}

function exitOf(missing: Timeline['missing']): number {
  const weights = Object.values(missing).map(({ weight }) => weight)
  return weights.includes(6) ? 6 : weights.includes(5) || missing.history_starts_at !== undefined ? 5 : 0
}
