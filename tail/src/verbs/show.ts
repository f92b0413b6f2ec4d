import { formatCount, type Input, type Io, locateStore, safeJson, safeText, usageError } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { noStore } from '../missing.js'
import { createFacts } from '../read/facts.js'
import { findRecord } from '../read/find-record.js'
import { RecordLog } from '../read/record-log.js'
import { bodyOf, idOf, type JournalFacts, type RecordLine, typeOf } from '../record-line.js'
import { isoTime, recordTimeMs } from '../render/clock.js'
import { plain } from '../render/fields.js'
import { parseEventRef } from '../where/event-ref.js'

/** `kim-tail show`: one record whole. */
export function run(input: Input, io: Io): number {
  const name = input.positional('record') ?? ''
  const ref = parseEventRef(name)
  if (ref === undefined)
    throw usageError(
      `"${safeText(name)}" is not a record`,
      'give a seq, or an event id such as river:new:246',
    )
  const location = locateStore(input, io.env)
  const past = RecordLog.open(location.eventsDir)
  if (past === undefined) throw noStore(location)
  const facts = createFacts(location.eventsDir)
  const found = findRecord(past, ref, facts)
  if (found.kind === 'absent') {
    const [failure] = past.failures
    throw new KimError('no_record', `the journal has no record ${safeText(name)}`, {
      ...(failure && { hint: `it may be in ${failure.path}, which cannot be read (${failure.code})` }),
    })
  }
  if (found.kind === 'corrupt') {
    throw new KimError(
      'record_corrupt',
      `cannot read ${name}: its line at byte ${found.offset} of ${found.segment} is ${found.reason}`,
    )
  }
  const { entry } = found
  const payload = facts.payloadOf(entry.record)
  io.stdout.write(input.bool('json') ? jsonText(entry, facts) : text(entry, facts, input.bool('utc')))
  if (found.others > 0)
    io.stderr.write(
      `kim-tail: ${formatCount(found.others, 'earlier record has', 'earlier records have')} the same seq\n`,
    )
  if (payload === undefined && entry.record.payload_ref !== undefined) {
    throw new KimError(
      'record_corrupt',
      `cannot read the payload of ${name}: the blob ${entry.record.payload_ref.sha256} is missing or damaged`,
    )
  }
  return 0
}

/** The record as it stands, with the payload where the line only refers to it. */
function jsonText(entry: RecordLine, facts: JournalFacts): string {
  if (entry.record.payload_ref === undefined) return `${Buffer.from(entry.line).toString('utf8').trim()}\n`
  return `${safeJson(JSON.stringify({ ...entry.record.raw, payload: facts.payloadOf(entry.record) }))}\n`
}

/** Facts one a line, then the body, each of its lines set in: so none of them can be taken for a fact. */
function text({ record }: RecordLine, facts: JournalFacts, utc: boolean): string {
  const payload = facts.payloadOf(record)
  const at = recordTimeMs(record.ts)
  const body = bodyOf(record, payload)
  const lines: (readonly [string, string | undefined])[] = [
    ['seq', String(record.seq)],
    ['id', record.event === undefined ? undefined : safeText(idOf(record, facts))],
    ['type', safeText(typeOf(record))],
    ['time', at === undefined ? undefined : isoTime(at, utc)],
    ['persona', record.agent === undefined ? undefined : safeText(record.agent)],
    ['item', safeText([record.item_type, record.item_id].filter(Boolean).join(' '))],
    ['writer', record.writer === undefined ? undefined : safeText(record.writer)],
    ['summary', record.summary === undefined ? undefined : safeText(record.summary)],
    ...Object.entries(payload ?? {})
      .filter(([name]) => name !== 'content' && name !== 'schema_version')
      .map(([name, value]) => [safeText(name), plain(value)] as const),
  ]
  const head = lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\n`]))
  const hasBody = typeof payload?.['content'] === 'string'
  const set = hasBody ? body.split('\n').map(line => `    ${safeText(line)}\n`) : []
  return [...head, ...(hasBody ? ['\n', ...set] : [])].join('')
}
