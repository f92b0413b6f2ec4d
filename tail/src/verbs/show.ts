import {
  formatCount,
  type Input,
  type Io,
  locateStore,
  requireRecordName,
  safeJson,
  safeText,
} from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { idOf, type JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import { factsOf, requireHistory } from '../journal.js'
import { findRecord, whyAbsent } from '../read/find-record.js'
import { withoutTags } from '../render/agent.js'
import { isoTime, recordTimeMs } from '../render/clock.js'
import { plain } from '../render/fields.js'
import { bodyOf, typeOf } from '../selection.js'

/** `kim-tail show`: one record whole. */
export function run(input: Input, io: Io): number {
  const name = input.positional('record') ?? ''
  const ref = requireRecordName(name)
  const past = requireHistory(locateStore(input, io.env))
  const facts = factsOf(past)
  const found = findRecord(past, ref, facts)
  if (found.kind === 'absent')
    throw new KimError('no_record', `the journal has no record ${safeText(name)}`, whyAbsent(past, found))
  if (found.kind === 'corrupt')
    throw new KimError(
      'record_corrupt',
      `cannot read ${name}: its line at byte ${found.offset} of ${found.segment} is ${found.reason}`,
    )
  const { entry } = found
  const payload = facts.payloadOf(entry.record)
  const shown = input.bool('json') ? jsonText(entry, facts) : text(entry, facts, input.bool('utc'))
  // A line for an agent ends with the command that prints the rest of it.
  io.stdout.write(input.bool('json') || io.stdout.isTTY === true ? shown : withoutTags(shown))
  if (found.others > 0)
    io.stderr.write(
      `kim-tail: ${formatCount(found.others, 'earlier record has', 'earlier records have')} the same seq\n`,
    )
  if (payload === undefined && entry.record.payload_ref !== undefined)
    throw new KimError(
      'record_corrupt',
      `cannot read the payload of ${name}: the blob ${entry.record.payload_ref.sha256} is missing or damaged`,
    )
  return 0
}

/** The stored line, with the payload if the line only refers to it. */
function jsonText(entry: JournalLine, facts: JournalFacts): string {
  if (entry.record.payload_ref === undefined) return `${Buffer.from(entry.line).toString('utf8').trim()}\n`
  return `${safeJson(JSON.stringify({ ...entry.record.raw, payload: facts.payloadOf(entry.record) }))}\n`
}

/** One fact a line, then the body, indented so that none of its lines looks like a fact. */
function text({ record }: JournalLine, facts: JournalFacts, utc: boolean): string {
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
