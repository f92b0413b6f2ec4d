/** The stored lines again, in file order, as far apart as they were. */
import type { PassOptions } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { walkLines } from './line-walk.js'
import { unknownPersona } from './not-found.js'
import { Reading } from './reading.js'
import { paceFrom } from './state-at.js'
import { timestampMs } from './timestamp.js'

/** A stored line that is due. */
export interface DueLine {
  /** Without its `\n`. */
  readonly bytes: Uint8Array
  readonly seq: number
  /** Milliseconds of the journal's time since the first line; never less than of the line before. */
  readonly afterMs: number
}

/** What is played, and to whom. */
export interface PlayOptions extends PassOptions {
  readonly fromSeq: number
  readonly toSeq: number
  readonly personas: readonly string[]
  /** Takes the lines one after the other; false ends it. */
  readonly take: (line: DueLine) => Promise<boolean>
}

/** Plays a journal. */
export async function play(
  journal: CopiedJournal,
  options: PlayOptions,
): Promise<{ readonly lines: number; readonly missing: Missing }> {
  const { fromSeq, toSeq, personas } = options
  const due: DueLine[] = []
  let afterMs = 0
  let before = Number.NaN
  let lines = 0
  let isOver = false
  const known = new Set<string>()
  const reading: Reading = new Reading(
    { after: journal.first - 1 },
    {
      isBeyond: ({ seq }) => isOver || seq > toSeq,
      get reach() {
        return isOver ? 0 : toSeq
      },
      applied: ({ record, bytes }) => {
        if (record.agent !== undefined && record.item_type !== 'journal') known.add(record.agent)
        if (record.seq < fromSeq) return
        if (personas.length > 0 && (record.agent === undefined || !personas.includes(record.agent))) return
        const at = timestampMs(record.ts)
        if (at > before) afterMs += at - before
        if (!Number.isNaN(at)) before = at
        due.push({ bytes, seq: record.seq, afterMs })
      },
      pause: () => (due.length === 0 ? undefined : drain()),
    },
  )
  const drain = async (): Promise<void> => {
    for (const line of due.splice(0)) {
      if (isOver) return
      lines += 1
      isOver = !(await options.take(line))
    }
  }
  if (journal.first > 1) reading.damage.startsAt(journal.first)
  await walkLines(journal, reading, paceFrom(journal, undefined, options))
  const missing = reading.damage.close(journal)
  // What stands behind the range may know them.
  const isAll = !isOver && reading.stoppedAt === undefined
  for (const name of personas)
    if ((isAll || lines === 0) && !known.has(name)) throw unknownPersona(name, known, missing)
  return { lines, missing }
}
