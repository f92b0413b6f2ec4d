import { type Input, type Io, parseTime, safeText, TIME_EXAMPLES, usageError } from '@kim/cli-kit'
import type { CopiedJournal } from '../copied-journal.js'
import { type EventName, parseEventName } from '../event-name.js'
import { newestTime } from '../newest-time.js'
import type { Point } from '../point.js'

/** The moment that `--seq`, `--time` or `--event-id` names: exactly one of them. */
export function parsePointFlags(input: Input, io: Io, journal: CopiedJournal): Point {
  const given = ['seq', 'time', 'event-id'].filter(name => input.given(name))
  if (given.length !== 1)
    throw usageError(
      given.length === 0
        ? 'a point in the journal is missing'
        : `--${given.join(' and --')} exclude each other`,
      'give one of --seq N, --time T, --event-id E',
    )
  const seq = input.number('seq')
  if (seq !== undefined) return { kind: 'seq', seq }
  const time = input.text('time')
  if (time !== undefined) return timePoint(time, input, io, journal)
  return { kind: 'event', name: requireEventName(input.text('event-id') ?? '') }
}

/** A moment in one word: a seq, an event id, or a time. */
export function parsePointWord(
  word: string,
  flag: string,
  input: Input,
  io: Io,
  journal: CopiedJournal,
): Point {
  if (/^\d+$/.test(word) && Number.isSafeInteger(Number(word))) return { kind: 'seq', seq: Number(word) }
  if (word === 'end') return { kind: 'end' }
  const ms = parseTime(word, nowOf(io, journal), input.bool('utc'))
  if (ms !== undefined) return { kind: 'time', ms, text: word }
  const name = parseEventName(word)
  if (name !== undefined) return { kind: 'event', name }
  throw usageError(
    `${flag} "${safeText(word)}" is not a point in the journal`,
    `give a seq, an event id such as river:new:246, "end", or a time: ${TIME_EXAMPLES}`,
  )
}

/** A record by its name. */
export function requireEventName(word: string): EventName {
  const name = parseEventName(word)
  if (name === undefined)
    throw usageError(
      `"${safeText(word)}" is neither a seq nor an event id`,
      'use one such as 18342, river:new:246, river/246, or river:alert:<16 hex>-<seq>',
    )
  return name
}

/** A time, as people write it. */
export function parseReplayTime(
  text: string,
  flag: string,
  input: Input,
  io: Io,
  journal: CopiedJournal,
): number {
  const ms = parseTime(text, nowOf(io, journal), input.bool('utc'))
  if (ms === undefined)
    throw usageError(`${flag} "${safeText(text)}" is not a time`, `use a time such as ${TIME_EXAMPLES}`)
  return ms
}

function timePoint(text: string, input: Input, io: Io, journal: CopiedJournal): Point {
  return { kind: 'time', ms: parseReplayTime(text, '--time', input, io, journal), text }
}

/** What `1h` counts back from: an old copy is asked about its own last hour, and always gives the same answer. */
function nowOf(io: Io, journal: CopiedJournal): number {
  return sourceDateMs(io) ?? newestTime(journal) ?? 0
}

/** The year 2242: a header of an archive has eleven octal digits for it. */
const TAR_SECONDS_MAX = 8 ** 11 - 1

/** The time that whoever builds reproducibly wants things to be dated by. */
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
