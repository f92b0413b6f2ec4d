import { formatCount, type Input, type Io, printReport, usageError, withProgress } from '@kim/cli-kit'
import { type FindResult, findTurns, type Stretch, type TurningPoint } from '../find.js'
import { parsePredicate } from '../predicate/predicate.js'
import { openReplayJournal, outputFormat } from './input.js'
import { missingText } from './print.js'

/** It never turned true. */
const NEVER = 3

/** CL-45: where a condition begins to hold. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = outputFormat(input)
  const text = input.text('until')
  if (text === undefined)
    throw usageError('--until is missing', 'give a condition, such as --until "persona.river.unread > 10"')
  const predicate = parsePredicate(text)
  const history = openReplayJournal(input, io)
  const result = await withProgress(io, 'find', control =>
    findTurns(history, predicate, input.bool('all'), control),
  )
  const { missing, ...rest } = result
  printReport(io, form === 'json', { ...rest, missing: missing.findings }, textOf(result))
  return missing.exit !== 0 ? missing.exit : result.times === 0 ? NEVER : 0
}

function textOf({ found, times, records, last_seq, base, missing }: FindResult): string[] {
  const never =
    missing.exit === 0 ? 'never becomes true' : 'does not become true in the records that can be read'
  const read = `${formatCount(records, 'record')} read${last_seq === null ? '' : `, up to seq ${last_seq}`}`
  return [
    ...found.map(stretch => stretchText(stretch, base)),
    ...(times > found.length ? [`and ${formatCount(times - found.length, 'more time', 'more times')}`] : []),
    ...(times > 0 ? [] : [`the condition ${never} (${read})`]),
    ...(base === null ? [] : [`older records are missing: read from checkpoint ${base.file}`]),
    ...missingText(missing.findings),
  ]
}

function stretchText({ from, until }: Stretch, base: FindResult['base']): string {
  const first = base === null ? 'true from the beginning' : 'true from the first available record on'
  const begin = from === null ? first : turnText(from)
  return until === null
    ? begin
    : `${begin}; until ${until.after_seq === null ? `seq ${until.seq}${until.ts === null ? '' : `, ${until.ts}`}` : turnText(until)}`
}

function turnText({ seq, ts, action, item_type, item_id, segment, after_seq }: TurningPoint): string {
  if (after_seq !== null)
    return `after seq ${after_seq} and by seq ${seq}: as checkpoint ${item_id} shows; the records that changed it are missing`
  return `seq ${seq}${ts === null ? '' : `, ${ts}`}: ${action} ${item_type} ${item_id ?? ''} (${segment})`
}
