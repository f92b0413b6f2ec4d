import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Input, type Io, LineOutput, safeText, usageError } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { cleanEnvironment, runExec } from '@kim/monitor'
import type { JournalCopy, RangeVerdict } from '@kim/observer-sdk/verify'
import { unknownPersona } from '../not-found.js'
import { Reading, startOf } from '../reading.js'
import { timestampMs } from '../timestamp.js'
import { openReplayJournal, seqRangeOf } from './input.js'
import { missingText } from './print.js'

/** CL-46: the stored lines again. */
export async function run(input: Input, io: Io): Promise<number> {
  const speed = speedOf(input.text('speed') ?? '1x')
  const history = openReplayJournal(input, io)
  const deliver = delivery(input.text('exec'), io)
  const step = speed === 'step' ? steps(io) : undefined
  const started = performance.now()
  const missing = await play(history, {
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

/** A stored line that is due. */
interface DueLine {
  /** Without its `\n`. */
  readonly bytes: Uint8Array
  readonly seq: number
  /** Milliseconds of the journal's time since the first line; never less than of the line before. */
  readonly afterMs: number
}

/** Which records are played, and what ends it. */
interface PlayOptions {
  readonly signal: AbortSignal
  readonly fromSeq: number
  readonly toSeq: number
  readonly personas: readonly string[]
  /** Takes the lines one after the other; false ends it. */
  readonly take: (line: DueLine) => Promise<boolean>
}

/** Plays the stored lines in file order, each as long after the first one as it was. */
async function play(history: JournalCopy, options: PlayOptions): Promise<RangeVerdict> {
  const { fromSeq, toSeq, personas } = options
  const due: DueLine[] = []
  let afterMs = 0
  let before = Number.NaN
  let lines = 0
  let isOver = false
  const known = new Set<string>()
  const drain = async (): Promise<void> => {
    for (const line of due.splice(0)) {
      if (isOver) return
      lines += 1
      isOver = !(await options.take(line))
    }
  }
  const reading = new Reading(startOf(history), {
    isBeyond: ({ seq }) => isOver || seq > toSeq,
    get reach() {
      return isOver ? 0 : toSeq
    },
    applied: ({ record: { seq, ts, agent, item_type }, bytes }) => {
      if (agent !== undefined && item_type !== 'journal') known.add(agent)
      if (seq < fromSeq) return
      if (personas.length > 0 && (agent === undefined || !personas.includes(agent))) return
      const at = timestampMs(ts)
      if (at > before) afterMs += at - before
      if (!Number.isNaN(at)) before = at
      due.push({ bytes, seq, afterMs })
    },
    pause: () => (due.length === 0 ? undefined : drain()),
  })
  await history.walk(reading, options)
  const missing = reading.close()
  // Records behind the range may be of the personas.
  const isAll = !isOver && reading.stoppedAt === undefined
  for (const name of personas)
    if ((isAll || lines === 0) && !known.has(name)) throw unknownPersona(name, known, missing)
  return missing
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

/** Passes one line to a command on its stdin, and waits until it has exited 0. What it prints goes to stderr. */
async function execLine(
  command: string,
  { bytes, seq }: DueLine,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const input = Buffer.concat([bytes, Buffer.from('\n')])
  const outcome = await runExec(command, env, signal, { input, timeoutMs: Number.POSITIVE_INFINITY })
  if (outcome.kind === 'interrupted') throw signal.reason
  if (outcome.kind === 'refused')
    throw new KimError('exec_failed', `seq ${seq}: the command ${outcome.why}`, {
      hint: `correct the command, then continue with --from-seq ${seq}`,
    })
}

/** Waits for a time by the clock of this process; what was gathered goes out first. */
async function until(time: number, flush: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (let left = time - performance.now(); left >= 1; left = time - performance.now()) {
    await flush()
    await sleep(Math.min(left, SLEEP_MS_MAX), undefined, { signal })
  }
}

/** A timer cannot be set for longer than 24 days, so it is set for a day at a time. */
const SLEEP_MS_MAX = 86_400_000

function steps({ signal }: Io): AsyncIterator<string> {
  const lines = createInterface({ input: process.stdin })
  signal.addEventListener('abort', () => lines.close(), { once: true })
  return lines[Symbol.asyncIterator]()
}
