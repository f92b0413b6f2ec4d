import { existsSync, readFileSync } from 'node:fs'
import { type Input, type Io, usageError, withProgress } from '@kim/cli-kit'
import { jcs } from '@kim/manifest'
import type { PassOptions } from '@kim/observer-sdk/verify'
import { type ColdTrouble, coldLook } from '../digest.js'
import { replayEventsDir, requireReplayJournal } from './events-dir.js'

/** OB-61: what an implementation of the reader is judged by. */
export async function run(input: Input, io: Io): Promise<number> {
  if (input.bool('full') && input.bool('cold'))
    throw usageError('--full and --cold exclude each other', 'give one of them')
  const file = input.text('cursor')
  const cursor: unknown = file === undefined ? undefined : storedCursor(file)
  const eventsDir = journalFor(input, io)
  const { printed, trouble } = await withProgress(io, 'digest', control =>
    answer(input, eventsDir, cursor, control),
  )
  io.stdout.write(`${jcs(printed)}\n`)
  return trouble === undefined ? 0 : tell(trouble, io)
}

/** A digest is no verdict, and yet who compares two wants to know what they are of. */
function tell({ counts, unreadable }: ColdTrouble, io: Io): number {
  const met = [...counts].map(([kind, times]) => `${kind} × ${times}`)
  if (unreadable > 0) met.push(`unreadable × ${unreadable}`)
  if (met.length > 0)
    io.stderr.write(
      `kim-replay: the digest covers only what could be read: ${met.join(', ')}\n  find the damage: kim-replay verify\n`,
    )
  return unreadable > 0 ? 6 : 0
}

/** A conformance run has an answer for a directory that is not there (OB-64); nobody has one for what is no journal. */
function journalFor(input: Input, io: Io): string {
  const isConformance = input.bool('full') || input.bool('cold')
  const eventsDir = replayEventsDir(input, io)
  return isConformance && !existsSync(eventsDir) ? eventsDir : requireReplayJournal(input, io)
}

async function answer(
  input: Input,
  eventsDir: string,
  cursor: unknown,
  control: Omit<PassOptions, 'eventsDir'>,
): Promise<{ readonly printed: object; readonly trouble?: ColdTrouble }> {
  if (input.bool('full')) {
    // Verify is loaded for those who ask for it.
    const { fullScan } = await import('../full-scan.js')
    return { printed: await fullScan(eventsDir, cursor, control) }
  }
  const { result, trouble } = await coldLook(eventsDir, cursor, control.signal)
  // OB-61: these two print what they come to, and nothing else.
  if (input.bool('cold')) return { printed: result }
  const { digest, entities, head_seq } = result
  return { printed: { digest, entities, head_seq }, trouble }
}

function storedCursor(file: string): unknown {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${file} is not JSON`, 'a cursor file holds {"checkpoint_seq":…,"seq":…,"writer":…}')
  }
}
