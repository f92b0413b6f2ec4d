/** What the flags of several commands mean: which journal, which points and ranges, where output goes and in which form. */
import { resolve } from 'node:path'
import {
  type Input,
  type Io,
  locateStore,
  parseRecordName,
  parseTime,
  requireRecordName,
  safeText,
  TIME_EXAMPLES,
  usageError,
} from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { isInsideStore, noJournalAt } from '@kim/observer-sdk/history'
import type { JournalCopy } from '@kim/observer-sdk/verify'
import { outPlace } from '../output/out-file.js'
import { openCopy } from '../reading.js'
import { REDACT_MODES, type RedactMode } from '../redactor.js'
import { newestTime, type Point } from '../state-at.js'

/** Times, and what those without a date count from: the same copy always returns the same answer. */
const TIMES = `${TIME_EXAMPLES} ("15m", "today" and "14:30" count from the newest record)`

/** The directory that a command reads: a copy, named by `--events`, or that of a store. */
export function replayEventsDir(input: Input, io: Io): string {
  const { eventsDir } = locateStore(input, io.env)
  const isNamed = input.text('events') !== undefined || input.text('store') !== undefined
  const missing = isNamed ? undefined : noJournalAt(eventsDir)
  if (missing === undefined) return eventsDir
  // The user did not name the default store, so the hint is not to check its path.
  throw new KimError('no_store', missing.message, {
    hint: 'name a copied directory with --events DIR, or a store with --store DIR',
  })
}

/** The journal that a command reads. */
export function openReplayJournal(input: Input, io: Io): JournalCopy {
  return openCopy(replayEventsDir(input, io))
}

/** The path of `--out`, which is never in or below what is read. */
export function outPath(input: Input, eventsDir: string): string {
  const out = input.text('out')
  if (out === undefined) throw usageError('--out is missing', 'name the file to write: --out FILE')
  if (isInsideStore({ eventsDir }, out))
    throw usageError(
      `--out would write inside the store, which kim-replay only reads: ${out}`,
      'name a path outside the store',
    )
  outPlace(out)
  return resolve(out)
}

/** The form that was asked for: `-o`, or `--json` for short. */
export function outputFormat(input: Input): string {
  const form = input.text('output')
  if (!input.bool('json')) return form ?? 'text'
  if (form !== undefined && form !== 'json')
    throw usageError(`--json and -o ${form} exclude each other`, 'give one of them')
  return 'json'
}

/** What `--redact` takes out. */
export function parseRedactMode(input: Input): RedactMode {
  const mode = input.text('redact')
  return REDACT_MODES.find(each => each === mode) ?? 'bodies'
}

/** The range of `--from-seq` and `--to-seq`. */
export function seqRangeOf(input: Input): { readonly fromSeq: number; readonly toSeq: number } {
  const fromSeq = input.number('from-seq') ?? 1
  const toSeq = input.number('to-seq') ?? Number.MAX_SAFE_INTEGER
  if (fromSeq > toSeq) throw usageError(`--from-seq ${fromSeq} is above --to-seq ${toSeq}`, 'swap them')
  return { fromSeq, toSeq }
}

/** A command line, and the journal that its times and points are in. */
interface Asked {
  readonly input: Input
  readonly io: Io
  readonly history: JournalCopy
}

/** The point that the word, `--seq`, `--time` or `--event-id` names: exactly one of them. */
export function parsePointFlags(asked: Asked): Point {
  const { input } = asked
  const word = input.positional('POINT')
  const given = ['seq', 'time', 'event-id'].filter(name => input.given(name)).map(name => `--${name}`)
  const all = word === undefined ? given : [`"${safeText(word)}"`, ...given]
  if (all.length !== 1)
    throw usageError(
      all.length === 0 ? 'a point in the journal is missing' : `${all.join(' and ')} exclude each other`,
      'give one: a seq, a time, an event id or "end"',
    )
  if (word !== undefined) return parsePointWord(word, 'POINT', asked)
  const seq = input.number('seq')
  if (seq !== undefined) return { kind: 'seq', seq }
  const text = input.text('time')
  if (text !== undefined) return { kind: 'time', ms: parseReplayTime(text, '--time', asked), text }
  return { kind: 'event', name: requireRecordName(input.text('event-id') ?? '') }
}

/** A point in one word: a seq, an event id, or a time. */
export function parsePointWord(word: string, flag: string, asked: Asked): Point {
  if (/^\d+$/.test(word) && Number.isSafeInteger(Number(word))) return { kind: 'seq', seq: Number(word) }
  if (word === 'end') return { kind: 'end' }
  const ms = timeOf(word, asked)
  if (ms !== undefined) return { kind: 'time', ms, text: word }
  const name = parseRecordName(word)
  if (name !== undefined) return { kind: 'event', name }
  throw usageError(
    `${flag} "${safeText(word)}" is not a point in the journal`,
    `give a seq, an event id such as river:new:246, "end", or a time: ${TIMES}`,
  )
}

/** A time, as people write it. */
export function parseReplayTime(text: string, flag: string, asked: Asked): number {
  const ms = timeOf(text, asked)
  if (ms === undefined)
    throw usageError(`${flag} "${safeText(text)}" is not a time`, `use a time such as ${TIMES}`)
  return ms
}

/** `1h` counts back from the newest record, so that the same copy always returns the same answer. */
function timeOf(text: string, { input, io, history }: Asked): number | undefined {
  return parseTime(text, sourceDateMs(io) ?? newestTime(history) ?? 0, input.bool('utc'))
}

/** The year 2242: a header of an archive has eleven octal digits for it. */
const TAR_SECONDS_MAX = 8 ** 11 - 1

/** The time of `SOURCE_DATE_EPOCH`, which dates outputs that must be reproducible. */
export function sourceDateMs(io: Pick<Io, 'env'>): number | undefined {
  const text = io.env['SOURCE_DATE_EPOCH']
  if (text === undefined || text === '') return undefined
  if (!/^\d{1,12}$/.test(text) || Number(text) > TAR_SECONDS_MAX)
    throw usageError(
      `SOURCE_DATE_EPOCH "${safeText(text)}" is not a number of seconds that an archive can hold`,
      `unset it, or give seconds since 1970, at most ${TAR_SECONDS_MAX}`,
    )
  return Number(text) * 1000
}
