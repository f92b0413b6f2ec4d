import { safeText } from '@kim/cli-kit'
import { firstCodePoints } from '@kim/monitor'
import type { RecordLine } from '../record-line.js'
import { bodyOf, senderOf, typeOf } from '../record-line.js'
import { age, isoTime, recordTimeMs, shortTime } from './clock.js'
import { colourOf, paint } from './colour.js'
import { displayWidth, fitColumns } from './columns.js'
import type { Look, Renderer } from './renderer.js'

/** Column widths on a terminal, so that lines of one screen stand under each other. */
const PERSONA_COLUMNS = 12
const TYPE_COLUMNS = 18
/** What a name may take there: a longer one would run on into a line of its own. */
const SENDER_COLUMNS = 24

/** One line a record for people: journalctl's times in a pipe, relative times and aligned columns on a terminal. */
export function createShort(look: Look): Renderer {
  return entry => line(entry, look, look.columns === undefined ? 'short' : 'relative')
}

/** As `short`, with exact times. */
export function createShortIso(look: Look): Renderer {
  return entry => line(entry, look, 'iso')
}

function line({ record }: RecordLine, look: Look, time: 'short' | 'iso' | 'relative'): string {
  const { colour, columns } = look
  const terminal = columns !== undefined
  const when = timeText(recordTimeMs(record.ts), time, look)
  const persona = look.prefix ? [pad(safeText(record.agent ?? '_'), PERSONA_COLUMNS, terminal)] : []
  const type = pad(safeText(typeOf(record)), TYPE_COLUMNS, terminal)
  const payload = look.facts.payloadOf(record)
  const sender = senderOf(payload)
  const from = sender === undefined ? '' : `${fit(safeText(sender), SENDER_COLUMNS, terminal)}: `
  const body = bodyOf(record, payload)
  const cut = safeText(look.bodyChars === undefined ? body : firstCodePoints(body, look.bodyChars))
  const head = [when, String(record.seq), ...persona, type]
  const used = displayWidth(`${head.join(' ')} ${from}`)
  const shown = terminal ? fitColumns(cut, Math.max(columns - used, 10)) : cut
  return [
    paint(when, 'dim', colour),
    paint(String(record.seq), 'dim', colour),
    ...persona.map(name => paint(name, 'bold', colour)),
    paint(type, colourOf(record), colour),
    `${paint(from, from === '' ? undefined : 'bold', colour)}${shown}`.trimEnd(),
  ].join(' ')
}

function timeText(ms: number | undefined, time: 'short' | 'iso' | 'relative', look: Look): string {
  if (time === 'relative') return (ms === undefined ? '?' : age(ms, look.nowMs())).padStart(4)
  if (ms === undefined) return '-'
  return time === 'iso' ? isoTime(ms, look.utc) : shortTime(ms, look.utc)
}

function pad(text: string, columns: number, aligned: boolean): string {
  if (!aligned) return text
  const fitted = fitColumns(text, SENDER_COLUMNS)
  return fitted + ' '.repeat(Math.max(0, columns - displayWidth(fitted)))
}

function fit(text: string, columns: number, aligned: boolean): string {
  return aligned ? fitColumns(text, columns) : text
}
