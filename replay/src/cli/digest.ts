import { existsSync, readFileSync } from 'node:fs'
import { type Input, type Io, usageError, withProgress } from '@kim/cli-kit'
import { jcs } from '@kim/manifest'
import { type ColdStartDamage, coldStart } from '@kim/observer-sdk'
import { requireJournal } from '../reading.js'
import { replayEventsDir } from './input.js'

/** OB-61: what an implementation of the reader is judged by. */
export async function run(input: Input, io: Io): Promise<number> {
  const [isFull, isCold] = [input.bool('full'), input.bool('cold')]
  if (isFull && isCold) throw usageError('--full and --cold exclude each other', 'give one of them')
  const file = input.text('cursor')
  const cursor: unknown = file === undefined ? undefined : storedCursor(file)
  const eventsDir = replayEventsDir(input, io)
  // A conformance run has an answer for an absent directory (OB-64).
  if (!(isFull || isCold) || existsSync(eventsDir)) requireJournal(eventsDir)
  const { printed, damage } = await withProgress(io, 'digest', async control => {
    // OB-61: --full and --cold print the result and nothing else.
    if (isFull) {
      // Loaded on demand, because it loads all checks of verify.
      const { fullScan } = await import('../full-scan.js')
      return { printed: await fullScan(eventsDir, cursor, control), damage: undefined }
    }
    const { result, damage } = await coldStart(eventsDir, cursor, control.signal)
    if (isCold) return { printed: result, damage: undefined }
    const { digest, entities, head_seq } = result
    return { printed: { digest, entities, head_seq }, damage }
  })
  io.stdout.write(`${jcs(printed)}\n`)
  return damage === undefined ? 0 : report(damage, io)
}

/** A digest is no verdict, but to compare two one must know if they cover everything. */
function report({ anomalies, unreadable }: ColdStartDamage, io: Io): number {
  const found = [...anomalies].map(([kind, times]) => `${kind} × ${times}`)
  if (unreadable > 0) found.push(`unreadable × ${unreadable}`)
  if (found.length > 0)
    io.stderr.write(
      `kim-replay: the digest covers only what could be read: ${found.join(', ')}\n  find the damage: kim-replay verify (with the same --events or --store)\n`,
    )
  return unreadable > 0 ? 6 : 0
}

function storedCursor(file: string): unknown {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw usageError(`${file} is not JSON`, 'a cursor file holds {"checkpoint_seq":…,"seq":…,"writer":…}')
  }
}
