import {
  formatCount,
  type Input,
  type Io,
  printReport,
  usageError,
  withProgress,
  writePieces,
} from '@kim/cli-kit'
import { jcs } from '@kim/manifest'
import { type Difference, differenceOf, type EntityChange } from '../diff.js'
import type { StateDocument } from '../state-document.js'
import { openReplayJournal, outputFormat, parsePointWord } from './input.js'
import { missingText, warnAboutLaterRecords } from './print.js'

/** CL-43: what changed between two moments. */
export async function run(input: Input, io: Io): Promise<number> {
  const form = outputFormat(input)
  const [from, to] = [input.text('from'), input.text('to')]
  if (from === undefined || to === undefined)
    throw usageError(
      `--${from === undefined ? 'from' : 'to'} is missing`,
      'give --from A and --to B: seqs, times, event ids or "end"',
    )
  const history = openReplayJournal(input, io)
  const asked = { input, io, history }
  const points = {
    from: parsePointWord(from, '--from', asked),
    to: parsePointWord(to, '--to', asked),
  }
  const difference = await withProgress(io, 'diff', control =>
    differenceOf(history, points, input.list('persona'), control),
  )
  warnAboutLaterRecords(io, difference.from, points.from)
  warnAboutLaterRecords(io, difference.to, points.to)
  if (form === 'json-patch') await writePieces(io, listOf(difference.patch))
  else if (form === 'json') await writePieces(io, documentOf(difference))
  else printReport(io, false, undefined, textOf(difference))
  return difference.missing.exit
}

function* listOf(items: readonly unknown[], end = '\n'): Generator<string> {
  yield '['
  for (const [i, item] of items.entries()) yield `${i === 0 ? '' : ','}\n${jcs(item)}`
  yield `]${end}`
}

function* documentOf({ from, to, changes, records, backwards, missing }: Difference): Generator<string> {
  yield `{"backwards":${backwards},\n"changes":`
  yield* listOf(changes, ',\n')
  yield `"from":${jcs(from.at)},\n"missing":${jcs(missing.findings)},\n"personas":${jcs(personasOf(from, to))},\n`
  yield `"records":${records},\n"to":${jcs(to.at)}}\n`
}

/** What differs of one persona: each value before and after. */
type Changed = Record<string, readonly [before: unknown, after: unknown]>

/** For each persona whose counts differ, each of them before and after. */
function personasOf(from: StateDocument, to: StateDocument): Record<string, Changed> {
  const all = Object.create(null) as Record<string, Changed>
  for (const name of [...new Set([...Object.keys(from.personas), ...Object.keys(to.personas)])].sort()) {
    const before: object = (Object.hasOwn(from.personas, name) ? from.personas[name] : undefined) ?? {}
    const after: object = (Object.hasOwn(to.personas, name) ? to.personas[name] : undefined) ?? {}
    const changed: Changed = {}
    for (const field of [...new Set([...Object.keys(before), ...Object.keys(after)])]) {
      const pair = [Reflect.get(before, field) ?? null, Reflect.get(after, field) ?? null] as const
      if (jcs(pair[0]) !== jcs(pair[1])) changed[field] = pair
    }
    if (Object.keys(changed).length > 0) all[name] = changed
  }
  return all
}

function textOf(difference: Difference): string[] {
  const { from, to, changes, records, backwards, missing } = difference
  const seqOf = ({ at }: StateDocument): string =>
    at === null ? 'the beginning' : `seq ${at.seq}${at.ts === null ? '' : `, ${at.ts}`}`
  const personas = Object.entries(personasOf(from, to))
  return [
    `from ${seqOf(from)} to ${seqOf(to)}: ${formatCount(records, 'record')}, ${formatCount(changes.length, 'entity', 'entities')} touched${backwards ? ' (backwards)' : ''}`,
    ...personas.map(([name, fields]) => `  ${name}: ${personaText(fields)}`),
    ...changes.flatMap(change => changeText(change)),
    ...missingText(missing.findings),
  ]
}

function personaText(fields: Changed): string {
  return Object.entries(fields)
    .map(([field, [before, after]]) =>
      field === 'alerts' || field === 'evidence'
        ? `${field} changed`
        : `${field} ${jcs(before)} → ${jcs(after)}`,
    )
    .join(', ')
}

const SEQS_SHOWN = 8
const VALUE_CHARS = 60

/** The words of a change that are no statement by themselves. */
const CHANGES: Readonly<Record<string, string>> = {
  passed: 'created and removed again',
  unchanged: 'changed and changed back',
}

function changeText({ item_type, item_id, change, seqs, patch }: EntityChange): string[] {
  const more = seqs.length > SEQS_SHOWN ? ` … ${seqs.length} in all, to ${seqs.at(-1)}` : ''
  const [first, ...others] = seqs.slice(0, SEQS_SHOWN)
  // The record that made it did not do so together with those that changed it.
  const shown =
    change === 'created' && others.length > 0
      ? [`${first}, then ${others[0]}`, ...others.slice(1)]
      : [first, ...others]
  const by = seqs.length === 0 ? 'by a record that cannot be read' : `by seq ${shown.join(', ')}${more}`
  const inside = patch.filter(({ path }) => path.startsWith('/payload'))
  return [
    `${item_type} ${item_id}: ${CHANGES[change] ?? change} ${by}`,
    ...inside.map(operation => {
      const value = operation.op === 'remove' ? '' : ` ${clip(jcs(operation.value))}`
      return `    ${operation.op} ${operation.path}${value}`
    }),
  ]
}

function clip(text: string): string {
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS)}…`
}
