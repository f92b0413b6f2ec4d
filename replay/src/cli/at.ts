import { type Input, type Io, printReport, withProgress, writePieces } from '@kim/cli-kit'
import { openCopy } from '../copied-journal.js'
import { stateLines } from '../json-lines.js'
import { stateAt } from '../state-at.js'
import { stateDocument } from '../state-document.js'
import { replayEventsDir } from './events-dir.js'
import { warnAboutLaterRecords } from './later-records-warning.js'
import { outputFormat } from './output-format.js'
import { parsePointFlags } from './parse-point.js'
import { stateText } from './state-text.js'

/** CL-42: the state at a moment. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = outputFormat(input)
  const journal = openCopy(replayEventsDir(input, io))
  const point = parsePointFlags(input, io, journal)
  const state = await withProgress(io, 'at', control =>
    stateAt(journal, point, { eventsDir: journal.eventsDir, ...control }),
  )
  const { point: asked, reading } = state
  const head = reading.last?.seq ?? state.base?.document.header.head_seq ?? 0
  if (asked.kind === 'seq' && reading.stoppedAt === undefined && head < asked.seq)
    io.stderr.write(`kim-replay: the newest record is seq ${head}: this is the state at the end\n`)
  const document = stateDocument(state, input.list('persona'))
  warnAboutLaterRecords(io, document, asked)
  if (form === 'json') await writePieces(io, stateLines(document))
  else printReport(io, false, undefined, stateText(document))
  return state.missing.exit
}
