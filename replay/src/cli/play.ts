import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Input, type Io, LineOutput, safeText, usageError } from '@kim/cli-kit'
import { cleanEnvironment } from '@kim/monitor'
import { openCopy } from '../copied-journal.js'
import { type DueLine, play } from '../player.js'
import { replayEventsDir } from './events-dir.js'
import { execLine } from './exec-line.js'
import { seqRangeOf } from './flags.js'
import { missingText } from './missing-text.js'

/** CL-46: the stored lines again. */
export async function run(input: Input, io: Io): Promise<number> {
  const speed = speedOf(input.text('speed') ?? '1x')
  const journal = openCopy(replayEventsDir(input, io))
  const deliver = delivery(input.text('exec'), io)
  const step = speed === 'step' ? steps(io) : undefined
  const started = performance.now()
  const { missing } = await play(journal, {
    eventsDir: journal.eventsDir,
    signal: io.signal,
    ...seqRangeOf(input),
    personas: input.list('persona'),
    take: async line => {
      if (step !== undefined && (await step.next()).done === true) return false
      if (typeof speed === 'number') await until(started + line.afterMs / speed, deliver.flush, io.signal)
      await deliver.line(line)
      if (speed === 'step') await deliver.flush()
      return true
    },
  })
  await deliver.flush()
  for (const text of missingText(missing.findings)) io.stderr.write(`kim-replay: ${safeText(text)}\n`)
  return missing.exit
}

type Speed = number | 'max' | 'step'

function speedOf(text: string): Speed {
  if (text === 'max' || text === 'step') return text
  const times = /^(\d{1,6}(?:\.\d{1,3})?)x$/.exec(text)
  const speed = Number(times?.[1])
  if (speed > 0) return speed
  throw usageError(
    `--speed "${safeText(text)}" is not a speed`,
    'use a speed such as 1x, 10x, 0.5x, max or step',
  )
}

interface Delivery {
  readonly line: (line: DueLine) => Promise<void>
  readonly flush: () => Promise<void>
}

function delivery(command: string | undefined, io: Io): Delivery {
  if (command === undefined) {
    const output = new LineOutput(io.stdout)
    return {
      line: async ({ bytes }) => {
        output.line(bytes)
        if (output.isFull) await output.flush()
      },
      flush: () => output.flush(),
    }
  }
  if (command.trim() === '')
    throw usageError('--exec names no command', 'give a command, such as --exec "my-consumer --once"')
  const env = cleanEnvironment(io.env)
  return {
    line: line => execLine(command, line, env, io.signal),
    flush: () => Promise.resolve(),
  }
}

/** Waits for a time by the clock of this process; what was gathered goes out first. */
async function until(time: number, flush: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let left = time - performance.now(); left >= 1; left = time - performance.now()) {
    await flush()
    await sleep(Math.min(left, SLEEP_MS_MAX), undefined, { signal })
  }
}

/** A timer cannot be set for longer than 24 days; a day at a time does. */
const SLEEP_MS_MAX = 86_400_000

function steps({ signal }: Io): AsyncIterator<string> {
  const lines = createInterface({ input: process.stdin })
  signal.addEventListener('abort', () => lines.close(), { once: true })
  return lines[Symbol.asyncIterator]()
}
