import { type Input, parseTime, TIME_EXAMPLES, usageError } from '@kim/cli-kit'
import { parseCursorToken } from '@kim/manifest'
import { type EventRef, parseEventRef } from './event-ref.js'

/** Where reading begins, as it was asked for. */
export type StartFrom =
  /** The last so many entries; `Infinity` for all. */
  | { readonly kind: 'last'; readonly lines: number }
  /** What is no older; of that the last so many. */
  | { readonly kind: 'since'; readonly ms: number; readonly lines: number }
  /** What stands after a record. */
  | {
      readonly kind: 'after'
      readonly seq: number
      readonly writer: string | null
      /** Named by a token: another journal is refused. */
      readonly projectId?: string
    }
  | { readonly kind: 'after-event'; readonly ref: EventRef }
  /** After a message's number, which needs one persona. */
  | { readonly kind: 'after-message'; readonly id: number }
  | { readonly kind: 'consumer'; readonly name: string }
  | { readonly kind: 'cursor-file'; readonly path: string }

/** Entries that are printed when nothing is said. */
const DEFAULT_LINES = 10

/** Flags that each name a place; two of them would contradict each other. */
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
  if (given.length > 1) {
    throw usageError(`--${given[0]} and --${given[1]} both say where to begin`, 'give one of them')
  }
  const lines = linesOf(input)
  const place = given[0]
  if (place === undefined) {
    // A wait is for what comes, and --until or --to-seq is a position of its own: neither is cut to ten lines.
    const bounded = input.given('until') || input.given('to-seq')
    const implied = input.bool('wait') ? 0 : bounded ? Number.POSITIVE_INFINITY : DEFAULT_LINES
    return { kind: 'last', lines: lines ?? implied }
  }
  if (place === 'since') {
    const ms = parseTimeFlag(input, 'since', nowMs) ?? 0
    return { kind: 'since', ms, lines: lines ?? Number.POSITIVE_INFINITY }
  }
  if (lines !== undefined) {
    throw usageError(
      `--lines and --${place} exclude each other`,
      `leave out --lines: --${place} already says where to begin`,
    )
  }
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
  if (input.bool('no-tail')) {
    if (text !== undefined) throw usageError('--lines and --no-tail exclude each other', 'give one of them')
    return Number.POSITIVE_INFINITY
  }
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
      // The record itself is wanted too: its predecessor's writer is not known, and then not compared.
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
    if (personas.length !== 1) {
      throw usageError(
        '--after-id takes a number only with one --persona',
        'add -p NAME: message numbers count per inbox; or give an event id such as river:new:246',
      )
    }
    return { kind: 'after-message', id: Number(text) }
  }
  const ref = parseEventRef(text)
  if (ref === undefined)
    throw usageError(`--after-id is not an event id: "${text}"`, 'use an id such as river:new:246')
  return { kind: 'after-event', ref }
}
