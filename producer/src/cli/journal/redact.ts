import { formatCount, type Input, type Io, usageError } from '@kim/cli-kit'
import { type RedactTarget, redactStore } from '../../journal/redact.js'
import { storeOptions } from '../open-store.js'
import { openingLines } from '../opening-lines.js'
import { report } from '../report.js'

/** Erases the content of one entity everywhere in the store. */
export function run(input: Input, io: Io): number {
  const target = targetOf(input)
  const reason = input.text('reason')
  if (reason === undefined || reason === '') {
    throw usageError('--reason is missing', 'give --reason TEXT; the journal keeps it')
  }
  const dryRun = input.bool('dry-run')
  const done = redactStore({ ...storeOptions(input, io), target, reason, dryRun })
  const verb = dryRun ? 'would erase' : 'erased'
  report(input, io, { dry_run: dryRun, ...done }, [
    done.records === 0
      ? `nothing to erase: no record of ${done.item_type} ${done.item_id} has content`
      : `${verb} the content of ${done.item_type} ${done.item_id} in ${formatCount(done.records, 'record')} of ${formatCount(done.segments.length, 'segment')}`,
    ...done.segments.map(name => `  ${name}`),
    ...openingLines(done.opening),
  ])
  return 0
}

function targetOf(input: Input): RedactTarget {
  const seq = input.number('seq')
  const type = input.positional('TYPE')
  const id = input.positional('ID')
  if (input.bool('entity')) {
    if (seq !== undefined) throw usageError('--seq and --entity exclude each other', 'give one of them')
    if (type !== undefined && id !== undefined) return { item_type: type, item_id: id }
    throw usageError('--entity needs a type and an id', 'for example: --entity message river/246')
  }
  if (type !== undefined)
    throw usageError(`"${type}" needs --entity before it`, 'for example: --entity message river/246')
  if (seq !== undefined) return { seq }
  throw usageError('--seq or --entity is missing', 'give --seq N, or --entity TYPE ID')
}
