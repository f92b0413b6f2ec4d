import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { type Input, type Io, usageError } from '@kim/cli-kit'
import { clientState } from '@kim/manifest'
import { resolveExisting } from '../../effects/real-path.js'
import { isInside } from '../../sinks/output-path.js'

/** Where events are to be told besides the journal, checked as far as it can be without opening a file. */
export interface SinkOptions {
  /** Event lines go to stdout. */
  readonly printsEvents: boolean
  /** What runs for each event. */
  readonly command: string | undefined
  /** Tries of any event by the command; undefined for those of its class. */
  readonly maxAttempts: number | undefined
  /** Absolute; holds `{persona}` for a file per persona. */
  readonly eventsFile: string | undefined
  readonly bytesMax: number
  readonly keep: number
  /** Undefined where bodies are not even in the journal. */
  readonly contentChars: number | undefined
  readonly heartbeatMs: number | undefined
  /** Absolute. */
  readonly activityFile: string | undefined
  /** Where the watermarks of sinks are kept. */
  readonly ledgerDir: string
}

const PLACEHOLDER = '{persona}'

/** Reads the flags of sinks; what can never work is a usage error (CL-10, CL-12). */
export function sinkOptions(input: Input, io: Io, storeDir: string): SinkOptions {
  const emit = input.text('emit')
  const command = input.text('exec')
  if (command?.trim() === '')
    throw usageError('--exec names no command', 'give a command, such as --exec ./on-mail.sh')
  if (emit === 'exec-per-event' && command === undefined) {
    throw usageError('--emit exec-per-event needs a command', 'give it with --exec CMD')
  }
  const ledgerDir = `${clientState(io.env, homedir(), 'kim-producer')}/sinks`
  refuseInside(ledgerDir, storeDir, 'the state directory of the sinks')
  const heartbeat = input.number('heartbeat')
  const events = eventsFileOf(input, storeDir)
  const activityFile = outputFile(input, 'activity-file', storeDir)
  if (events !== undefined && activityFile !== undefined && isOneOf(activityFile, events)) {
    throw usageError(`--activity-file is also an event file: ${activityFile}`, 'name another file')
  }
  return {
    printsEvents: emit === 'stdout-jsonl',
    command,
    maxAttempts: input.number('max-attempts'),
    eventsFile: events,
    bytesMax: input.number('max-bytes') ?? 0,
    keep: input.number('keep-logs') ?? 1,
    contentChars: input.bool('no-content') ? undefined : input.number('content-chars'),
    heartbeatMs: heartbeat === undefined ? undefined : heartbeat * 1000,
    activityFile,
    ledgerDir,
  }
}

/** Flags of sinks that say something which has no effect beside the others. */
export function sinkWarnings(input: Input): string[] {
  const isIdle = input.given('max-attempts') && !input.given('exec')
  const isBeatless =
    input.given('heartbeat') &&
    !input.given('emit') &&
    !input.given('exec') &&
    !input.given('events-file') &&
    !input.given('events-file-template')
  return [
    ...(isIdle ? ['--max-attempts has no effect without --exec'] : []),
    ...(isBeatless ? ['--heartbeat has no effect without a sink that writes it'] : []),
  ]
}

/** The event file that is named, or the template of one per persona, absolute. */
export function eventsFileOf(input: Input, storeDir: string): string | undefined {
  const single = outputFile(input, 'events-file', storeDir)
  const template = outputFile(input, 'events-file-template', storeDir)
  if (single !== undefined && template !== undefined) {
    throw usageError('--events-file and --events-file-template exclude each other', 'give one of them')
  }
  if (single?.includes(PLACEHOLDER) === true) {
    throw usageError(`--events-file must not hold ${PLACEHOLDER}`, 'use --events-file-template instead')
  }
  if (template !== undefined && !template.includes(PLACEHOLDER)) {
    throw usageError(
      `--events-file-template must hold ${PLACEHOLDER}`,
      'put {persona} in the path, or use --events-file for one file',
    )
  }
  return single ?? template
}

function outputFile(input: Input, flag: string, storeDir: string): string | undefined {
  const given = input.text(flag)
  if (given === undefined) return undefined
  if (given === '') throw usageError(`--${flag} is empty`, 'name a file')
  const path = resolve(given)
  // What stands before a placeholder says where all of the files stand.
  const fixed = path.includes(PLACEHOLDER) ? dirname(`${path.slice(0, path.indexOf(PLACEHOLDER))}x`) : path
  refuseInside(fixed, storeDir, `--${flag}`)
  return path
}

/** Whether a path is an event file, or one that is rotated to. */
function isOneOf(path: string, eventsFile: string): boolean {
  const parts = resolveExisting(eventsFile)
    .split(PLACEHOLDER)
    .map(part => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/\\\\]+')}(\\.\\d+)?$`).test(resolveExisting(path))
}

function refuseInside(path: string, storeDir: string, what: string): void {
  if (!isInside(path, storeDir)) return
  throw usageError(`${what} is inside the store: ${path}`, 'name a path outside the store')
}
