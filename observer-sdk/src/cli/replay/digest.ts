import { existsSync, readFileSync } from 'node:fs'
import { type Input, type Io, usageError, withProgress } from '@kim/cli-kit'
import { jcs } from '@kim/manifest'
import { coldStart } from '../../replay/digest.js'
import type { PassOptions } from '../../verify/pace.js'
import { eventsOf, journalOf } from './events-of.js'

/** OB-61: what an implementation of the reader is judged by. */
export async function run(input: Input, io: Io): Promise<number> {
  if (input.bool('full') && input.bool('cold'))
    throw usageError('--full and --cold exclude each other', 'give one of them')
  const file = input.text('cursor')
  const cursor: unknown = file === undefined ? undefined : storedCursor(file)
  const eventsDir = journalFor(input, io)
  const printed = await withProgress(io, 'digest', control => result(input, eventsDir, cursor, control))
  io.stdout.write(`${jcs(printed)}\n`)
  return 0
}

/** A conformance run has an answer for a directory that is not there (OB-64); nobody has one for what is no journal. */
function journalFor(input: Input, io: Io): string {
  const isConformance = input.bool('full') || input.bool('cold')
  const eventsDir = eventsOf(input, io)
  return isConformance && !existsSync(eventsDir) ? eventsDir : journalOf(input, io)
}

async function result(
  input: Input,
  eventsDir: string,
  cursor: unknown,
  control: Omit<PassOptions, 'eventsDir'>,
): Promise<object> {
  if (input.bool('full')) {
    // Verify is loaded for those who ask for it.
    const { fullScan } = await import('../../replay/full-scan.js')
    return await fullScan(eventsDir, cursor, control)
  }
  const all = await coldStart(eventsDir, cursor, control.signal)
  if (input.bool('cold')) return all
  const { digest, entities, head_seq } = all
  return { digest, entities, head_seq }
}

function storedCursor(file: string): unknown {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${file} is not JSON`, 'a cursor file holds {"checkpoint_seq":…,"seq":…,"writer":…}')
  }
}
