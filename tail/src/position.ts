/** Where reading begins: what the command line says, and the place in the journal that it means. */
import {
  type Input,
  parseTime,
  type RecordName,
  requireRecordName,
  TIME_EXAMPLES,
  usageError,
} from '@kim/cli-kit'
import { type ConsumerCursor, KimError, parseCursorToken, type ReadRecord } from '@kim/manifest'
import type { JournalFacts } from '@kim/monitor'
import type { StartAfter } from '@kim/observer-sdk'
import type { JournalHistory } from '@kim/observer-sdk/history'
import type { Plan } from './plan.js'
import { findRecord, whyAbsent } from './read/find-record.js'

/** Where reading begins, by the command line. */
export type StartFrom =
  /** The last so many entries; `Infinity` for all. */
  | { readonly kind: 'last'; readonly lines: number }
  /** The last so many of those since a time. */
  | { readonly kind: 'since'; readonly ms: number; readonly lines: number }
  /** Those after a record. */
  | {
      readonly kind: 'after'
      readonly seq: number
      readonly writer: string | null
      /** Named by a token: another journal is refused. */
      readonly projectId?: string
    }
  | { readonly kind: 'after-event'; readonly ref: RecordName }
  /** After a message's number, which needs one persona. */
  | { readonly kind: 'after-message'; readonly id: number }
  | { readonly kind: 'consumer'; readonly name: string }
  | { readonly kind: 'cursor-file'; readonly path: string }

/** Entries that are printed if no position is given. */
const DEFAULT_LINES = 10

/** What a run without its cursor file does. */
export const REMOVE_CURSOR_FILE =
  'remove the file: the next run then begins with new mail (older mail: --after-seq N in place of --cursor-file)'

/** Flags that each name a place. Two of them exclude each other. */
const PLACES = [
  'since',
  'after-seq',
  'from-seq',
  'after-id',
  'cursor',
  'after-cursor',
  'cursor-file',
  'consumer',
] as const

/** Reads the position from the flags. */
export function positionOf(input: Input, personas: readonly string[], nowMs: number): StartFrom {
  const given = PLACES.filter(name => input.given(name))
  if (given.length > 1)
    throw usageError(`--${given[0]} and --${given[1]} both say where to begin`, 'give one of them')
  const lines = linesOf(input)
  const place = given[0]
  if (place === undefined) {
    // --wait prints no existing entry, and --until and --to-seq say where to end: ten lines would be a second limit.
    const bounded = input.given('until') || input.given('to-seq')
    const implied = input.bool('wait') ? 0 : bounded ? Number.POSITIVE_INFINITY : DEFAULT_LINES
    return { kind: 'last', lines: lines ?? implied }
  }
  if (place === 'since') {
    const ms = parseTimeFlag(input, 'since', nowMs) ?? 0
    return { kind: 'since', ms, lines: lines ?? Number.POSITIVE_INFINITY }
  }
  if (lines !== undefined)
    throw usageError(
      `--lines and --${place} exclude each other`,
      `leave out --lines: --${place} already says where to begin`,
    )
  return namedPlace(input, place, personas)
}

/** The time a flag names. */
export function parseTimeFlag(input: Input, flag: 'since' | 'until', nowMs: number): number | undefined {
  const text = input.text(flag)
  if (text === undefined) return undefined
  const ms = parseTime(text, nowMs, input.bool('utc'))
  if (ms === undefined)
    throw usageError(`--${flag} is not a time: "${text}"`, `use a time such as ${TIME_EXAMPLES}`)
  return ms
}

function linesOf(input: Input): number | undefined {
  const text = input.text('lines')
  if (text === undefined) return undefined
  if (text === 'all') return Number.POSITIVE_INFINITY
  if (!/^\d{1,9}$/.test(text))
    throw usageError(`--lines takes a number or "all", not "${text}"`, 'use a number such as -n 50')
  return Number(text)
}

function namedPlace(input: Input, place: (typeof PLACES)[number], personas: readonly string[]): StartFrom {
  const text = input.text(place) ?? ''
  switch (place) {
    case 'after-seq':
      return { kind: 'after', seq: input.number(place) ?? 0, writer: null }
    case 'from-seq':
      return { kind: 'after', seq: (input.number(place) ?? 1) - 1, writer: null }
    case 'cursor':
    case 'after-cursor': {
      const token = parseCursorToken(text)
      if (token === undefined)
        throw usageError(
          `--${place} is not a cursor token: "${text}"`,
          'print a token with: kim-tail --show-cursor',
        )
      // The record itself is printed too. The writer of the one before it is unknown, and so it is not compared.
      if (place === 'cursor')
        return { kind: 'after', projectId: token.projectId, seq: Math.max(token.seq - 1, 0), writer: null }
      return { kind: 'after', ...token }
    }
    case 'after-id':
      return afterId(text, personas)
    case 'consumer':
      return { kind: 'consumer', name: text }
    default:
      return { kind: 'cursor-file', path: text }
  }
}

function afterId(text: string, personas: readonly string[]): StartFrom {
  if (/^\d+$/.test(text)) {
    if (personas.length !== 1)
      throw usageError(
        '--after-id takes a number only with one --persona',
        'add -p NAME: the place after a message is looked for in one inbox; or give an event id such as river:new:246',
      )
    return { kind: 'after-message', id: Number(text) }
  }
  return { kind: 'after-event', ref: requireRecordName(text) }
}

/** Where a command begins, once the journal was listed. */
export interface Beginning {
  /** Where the tail begins. */
  readonly from: 'head' | StartAfter
  /** Existing entries are selected by number or time, and printed first. */
  readonly printsPast: boolean
  /** A consumer without a cursor: existing entries are skipped, and a message says so. */
  readonly isNew: boolean
}

const AT_HEAD: Beginning = { from: 'head', printsPast: false, isNew: false }

/** Resolves a position to a place. `stored` is the cursor of a consumer or of a cursor file. */
export function beginningOf(
  plan: Plan,
  stored: ConsumerCursor | undefined,
  past: JournalHistory | undefined,
  facts: JournalFacts,
): Beginning {
  const { position } = plan
  /** Refuses a cursor of another journal: its seq means nothing in this one. */
  const requireProject = (wanted: string | undefined, whose: string, orElse: string): void => {
    if (wanted === undefined || past === undefined || wanted === facts.projectId()) return
    throw usageError(`${whose} belongs to another journal`, `name its journal with --store DIR, or ${orElse}`)
  }
  switch (position.kind) {
    case 'last':
    case 'since':
      return { ...AT_HEAD, printsPast: true }
    case 'after':
      requireProject(position.projectId, 'the cursor', 'leave out the cursor')
      return after(position.projectId, position.seq, position.writer)
    case 'after-event': {
      const found = past === undefined ? undefined : findRecord(past, position.ref, facts)
      const why = past && found && whyAbsent(past, found)
      if (found?.kind !== 'record') throw new KimError('no_record', '--after-id: no record has this id', why)
      const { seq, writer } = found.entry.record
      return after(undefined, seq, writer ?? null)
    }
    case 'after-message':
      return afterMessage(position.id, plan, past, facts)
    case 'consumer':
      if (stored === undefined) return unstarted(plan, position.name)
      requireProject(
        stored.projectId,
        `the consumer "${position.name}"`,
        `move it to this one: kim-tail cursors set ${position.name} --seq N (the last record that was handled), with the same --store; or kim-tail cursors rm ${position.name}: the next run then begins with new mail`,
      )
      return after(stored.projectId, stored.seq, stored.writer)
    case 'cursor-file':
      // As with journalctl, a missing file means the usual start.
      if (stored === undefined) return AT_HEAD
      requireProject(stored.projectId, 'the cursor file', REMOVE_CURSOR_FILE)
      return after(stored.projectId, stored.seq, stored.writer)
    default:
      return position satisfies never
  }
}

function after(projectId: string | undefined, seq: number, writer: string | null): Beginning {
  return { from: { projectId, seq, writer }, printsPast: false, isNew: false }
}

function unstarted(plan: Plan, name: string): Beginning {
  if (plan.start === 'new') return { ...AT_HEAD, isNew: true }
  if (plan.start === 'earliest') return after(undefined, 0, null)
  throw new KimError('no_cursor', `the consumer "${name}" has no cursor`)
}

/** Before the first message above an id, in file order; without one, after all records that exist. */
function afterMessage(
  id: number,
  plan: Plan,
  past: JournalHistory | undefined,
  facts: JournalFacts,
): Beginning {
  const [persona] = plan.selection.personas
  let last: Pick<ReadRecord, 'seq' | 'writer'> = { seq: 0, writer: undefined }
  for (const { record } of past?.forwards() ?? []) {
    if (record.seq >= last.seq) last = record
    if (record.agent !== persona || record.item_type !== 'message') continue
    const number = facts.payloadOf(record)?.['id']
    const isNew = record.action === 'create' || record.action === 'backfill'
    if (isNew && typeof number === 'number' && number > id) return after(undefined, record.seq - 1, null)
  }
  return after(undefined, last.seq, last.writer ?? null)
}
