/** How records look to a person: one line each, with time, persona, type, sender and text. */
import { safeText } from '@kim/cli-kit'
import type { Environment, ReadRecord } from '@kim/manifest'
import { firstCodePoints, type JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import { bodyOf, senderOf, typeOf, wakeOf } from '../selection.js'
import { isoDate, isoTime, recordTimeMs, shortTime, timeOfDay } from './clock.js'

/** How one record looks in one output mode: a line without its `\n`, or undefined if the mode does not show it. */
export interface Renderer {
  (entry: JournalLine): string | Uint8Array | undefined
  /** The line to print before that of a record, if one is due. */
  readonly before?: (entry: JournalLine) => string | undefined
}

/** What the modes for people share. */
export interface Look {
  readonly facts: JournalFacts
  readonly nowMs: () => number
  readonly utc: boolean
  readonly colour: boolean
  /** Show which persona a line belongs to. */
  readonly prefix: boolean
  /** Code points of a body that are shown; undefined for all of them. */
  readonly bodyChars: number | undefined
  /** Show whole texts on a terminal too. */
  readonly full: boolean
  /** Columns of the terminal; undefined if the output is no terminal. */
  readonly columns: number | undefined
}

/** Column widths on a terminal, so that the columns of one screen are aligned. */
const PERSONA_COLUMNS = 12
const TYPE_COLUMNS = 18
/** The longest name on a terminal: a longer one would wrap the line. */
const SENDER_COLUMNS = 24

/** `short` has times of the day and aligned columns on a terminal, and journalctl's times elsewhere. `short-iso` has exact times. */
export function createShort(look: Look, mode: 'short' | 'short-iso' = 'short'): Renderer {
  const { bodyChars = Number.POSITIVE_INFINITY, colour, columns, facts, full, nowMs, prefix, utc } = look
  const isDated = mode === 'short' && columns !== undefined
  const fit = (text: string): string => (columns === undefined ? text : fitColumns(text, SENDER_COLUMNS))
  const pad = (text: string, width: number): string =>
    columns === undefined ? text : fit(text) + ' '.repeat(Math.max(0, width - displayWidth(fit(text))))
  const timeText = (ms: number | undefined): string => {
    if (isDated) return (ms === undefined ? '?' : timeOfDay(ms, utc)).padStart(8)
    return ms === undefined ? '-' : mode === 'short' ? shortTime(ms, utc) : isoTime(ms, utc)
  }
  const render: Renderer = ({ record }) => {
    const when = timeText(recordTimeMs(record.ts))
    const persona = prefix ? [pad(safeText(record.agent ?? '_'), PERSONA_COLUMNS)] : []
    const type = pad(safeText(typeOf(record)), TYPE_COLUMNS)
    const payload = facts.payloadOf(record)
    const sender = senderOf(payload)
    const from = sender === undefined ? '' : `${fit(safeText(sender))}: `
    const cut = safeText(firstCodePoints(bodyOf(record, payload), bodyChars))
    const used = displayWidth([when, record.seq, ...persona, type, from].join(' '))
    const shown = columns === undefined || full ? cut : fitColumns(cut, Math.max(columns - used, 10))
    return [
      paint(when, 'dim', colour),
      paint(String(record.seq), 'dim', colour),
      ...persona.map(name => paint(name, 'bold', colour)),
      paint(type, colourOf(record), colour),
      `${paint(from, from === '' ? undefined : 'bold', colour)}${shown}`.trimEnd(),
    ].join(' ')
  }
  return isDated ? Object.assign(render, { before: createDayLines(utc, nowMs()) }) : render
}

/** The date before the first record of another day than that of the record before, or than today. */
function createDayLines(utc: boolean, nowMs: number): (entry: JournalLine) => string | undefined {
  let day = isoDate(nowMs, utc)
  return ({ record }) => {
    const ms = recordTimeMs(record.ts)
    if (ms === undefined || isoDate(ms, utc) === day) return undefined
    day = isoDate(ms, utc)
    return `-- ${day}`
  }
}

/** The text alone, one line a record. */
export function createCat(look: Pick<Look, 'bodyChars' | 'facts' | 'prefix'>): Renderer {
  const { bodyChars = Number.POSITIVE_INFINITY, facts, prefix } = look
  return ({ record }) => {
    const body = safeText(firstCodePoints(bodyOf(record, facts.payloadOf(record)), bodyChars))
    return prefix ? `${safeText(record.agent ?? '_')}: ${body}` : body
  }
}

/** Whether to colour: the flag, else `NO_COLOR`, else `FORCE_COLOR`, else a terminal that is not dumb. */
export function wantsColour(choice: string | undefined, env: Environment, isTerminal: boolean): boolean {
  if (choice === 'always') return true
  if (choice === 'never') return false
  if (env['NO_COLOR']) return false
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0'
  return isTerminal && env['TERM'] !== 'dumb'
}

/** Terminal codes. */
const COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

type Colour = keyof typeof COLOURS

/** Text in a colour, or as it is. */
function paint(text: string, colour: Colour | undefined, on: boolean): string {
  return on && colour !== undefined ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text
}

const WAKE_COLOURS: Readonly<Record<string, Colour>> = { mail: 'cyan', diagnostic: 'yellow' }

/** The colour that shows what kind of news a record is. */
function colourOf(record: ReadRecord): Colour {
  if (record.event === 'alert') return 'red'
  if (record.event === 'recovered') return 'green'
  return WAKE_COLOURS[wakeOf(record) ?? ''] ?? 'dim'
}

/** Columns that a text takes on a terminal: wide characters two, combining ones none. */
export function displayWidth(text: string): number {
  let width = 0
  for (const character of text) width += widthOf(character)
  return width
}

/** The longest beginning of a text that fits, with `…` if something was cut. */
export function fitColumns(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let used = 1
  let fitted = ''
  for (const character of text) {
    used += widthOf(character)
    if (used > columns) break
    fitted += character
  }
  return `${fitted}…`
}

/** Terminals disagree about the width of these. A line that is wider than expected would wrap, so the larger width counts. */
const EMOJI = /^[\p{Emoji_Presentation}\u{1f000}-\u{1fbff}]$/u
/** Turns the character before it into an emoji. */
const EMOJI_SELECTOR = '\ufe0f'
const COMBINING = /^[\p{Mn}\p{Me}]$/u
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}]$/u

function widthOf(character: string): number {
  if (character < '\u0300' || character === EMOJI_SELECTOR) return 1
  if (EMOJI.test(character)) return 2
  if (COMBINING.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
