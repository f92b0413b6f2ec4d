import type { ReadRecord } from '@kim/manifest'
import { wakeOf } from '../record-line.js'

/** A colour, as the terminal is told. */
export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'

const CODES: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }

/** Text in a colour, or as it is. */
export function paint(text: string, colour: Colour | undefined, on: boolean): string {
  return on && colour !== undefined ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text
}

/** The colour that says at a glance what kind of news a record is. */
export function colourOf(record: ReadRecord): Colour | undefined {
  if (record.event === 'alert') return 'red'
  if (record.event === 'recovered') return 'green'
  switch (wakeOf(record)) {
    case 'mail':
      return 'cyan'
    case 'diagnostic':
      return 'yellow'
    default:
      return 'dim'
  }
}
