/** Checks the flags of `kim-producer run`: first alone, then against the files and the server that they name. */

import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { type Input, type Io, usageError, VERSION } from '@kim/cli-kit'
import { clientState, type Environment, limits, storePaths } from '@kim/manifest'
import type { CoreOptions } from '../../core/core.js'
import { isInside, resolveExisting } from '../../effects/system.js'
import { checkSource } from '../../journal/store.js'
import type { RunLog } from '../../run/run-log.js'
import { classOfAddress, parseBaseUrl } from '../../source/address.js'
import { openSource, type SourceOptions } from '../../source/kijito.js'
import type { Source } from '../../source/source.js'
import { recordedSource } from '../open-store.js'
import { storeOf } from '../store-flags.js'
import { checkEventsFile } from './open-sinks.js'

/** The flags of `kim-producer run`, checked as far as possible without a file or a server. */
export interface RunOptions {
  readonly storeDir: string
  readonly server: Pick<
    SourceOptions,
    'url' | 'dialect' | 'tokenFile' | 'authHeader' | 'allowLoopback' | 'allowPrivate'
  >
  /** All of the core's options but the dialect, which the server's URL may imply. */
  readonly core: Omit<CoreOptions, 'dialect'>
  readonly journal: { readonly segmentBytes: number; readonly retainRead: number; readonly gc: boolean }
  readonly sinks: SinkOptions
  /** Flags that have no effect beside the others. */
  readonly warnings: readonly string[]
}

/** The sinks that the flags name. */
export interface SinkOptions {
  /** Whether event lines go to stdout. */
  readonly printsEvents: boolean
  /** The command to run for each event. */
  readonly command: string | undefined
  /** The most tries of the command; undefined for those of the event's class. */
  readonly maxAttempts: number | undefined
  /** Absolute; holds `{persona}` for a file per persona. */
  readonly eventsFile: string | undefined
  readonly bytesMax: number
  readonly keep: number
  /** Undefined if the journal has no bodies. */
  readonly contentChars: number | undefined
  readonly heartbeatMs: number | undefined
  /** Absolute. */
  readonly activityFile: string | undefined
  /** The directory of the watermarks. */
  readonly ledgerDir: string
}

/** Reads the flags. Flags that can never work are a usage error (CL-12). */
export function runOptions(input: Input, io: Io): RunOptions {
  const personas = chosenPersonas(input)
  const storeDir = storeOf(input, io)
  const dialect = input.text('dialect')
  return {
    storeDir,
    server: {
      url: input.text('url') ?? '',
      dialect: dialect === 'local' || dialect === 'hosted' ? dialect : undefined,
      tokenFile: input.text('token-file'),
      authHeader: input.text('auth-header'),
      allowLoopback: input.bool('allow-loopback'),
      allowPrivate: input.bool('allow-private'),
    },
    core: {
      personas,
      waitSeconds: count(input, 'wait'),
      pollSeconds: count(input, 'poll-seconds'),
      alertAfter: count(input, 'alert-after'),
      resyncEvery: count(input, 'resync-every'),
      rediscoverSeconds: count(input, 'rediscover-every'),
      seedAt: seedAt(input),
      maxReplay: count(input, 'max-replay'),
      keepContent: !input.bool('no-content'),
      suppressedAuthors: input.list('suppress-author'),
      fastPath: !input.bool('no-fast-path'),
      strandedAlerts: !input.bool('no-stranded-alerts'),
      urgentAlerts: !input.bool('no-urgent-alerts'),
      urgentAfterMs: count(input, 'urgent-after'),
    },
    journal: {
      segmentBytes: count(input, 'segment-bytes'),
      retainRead: count(input, 'retain-read'),
      gc: !input.bool('no-gc'),
    },
    sinks: sinkOptions(input, io, storeDir),
    warnings: warnings(input),
  }
}

/** KS-67: trimmed, blanks dropped, exact repeats removed; undefined means all. */
function chosenPersonas(input: Input): readonly string[] | undefined {
  const isNamed = input.given('persona') || input.given('personas')
  if (input.bool('all-personas') || !isNamed) {
    if (isNamed)
      throw usageError('--all-personas and a persona by name exclude each other', 'give one of them')
    return undefined
  }
  const given = [...input.list('persona'), ...input.list('personas')]
  const names = [...new Set(given.map(name => name.trim()).filter(name => name !== ''))]
  if (names.length === 0)
    throw usageError('--persona is empty', 'give a name, or leave out --persona to follow every inbox')
  if (names.length > limits.personasMax)
    throw usageError(
      `${names.length} personas are too many: the maximum is ${limits.personasMax}`,
      'follow fewer personas',
    )
  return names
}

function seedAt(input: Input): number | undefined {
  const seed = input.number('seed-at')
  const isAlone = input.list('persona').length === 1 && !input.given('personas')
  if (seed !== undefined && !isAlone)
    throw usageError('--seed-at needs exactly one --persona', 'give one --persona NAME')
  return seed
}

/** A number that has a default in the flag table. */
function count(input: Input, name: string): number {
  return input.number(name) ?? 0
}

function warnings(input: Input): string[] {
  const isWaitIdle = input.given('wait') && input.number('wait') !== 0 && input.bool('no-fast-path')
  const hasNoSink = ['emit', 'exec', 'events-file', 'events-file-template'].every(name => !input.given(name))
  return [
    ...(isWaitIdle ? ['--wait has no effect with --no-fast-path'] : []),
    ...(input.given('max-attempts') && !input.given('exec')
      ? ['--max-attempts has no effect without --exec']
      : []),
    ...(input.given('heartbeat') && hasNoSink
      ? ['--heartbeat has no effect without a sink that writes it']
      : []),
  ]
}

const PLACEHOLDER = '{persona}'

/** CL-10, CL-12. */
function sinkOptions(input: Input, io: Io, storeDir: string): SinkOptions {
  const emit = input.text('emit')
  const command = input.text('exec')
  if (command?.trim() === '')
    throw usageError('--exec names no command', 'give a command, such as --exec ./on-mail.sh')
  if (emit === 'exec-per-event' && command === undefined)
    throw usageError('--emit exec-per-event needs a command', 'give it with --exec CMD')
  const ledgerDir = `${clientState(io.env, homedir(), 'kim-producer')}/sinks`
  const what = 'the directory in which the producer saves its watermarks'
  refuseInside(ledgerDir, storeDir, what, 'choose a store that does not contain it: --store DIR')
  const heartbeat = input.number('heartbeat')
  const eventsFile = eventsFileOf(input, storeDir)
  const activityFile = outputFile(input, 'activity-file', storeDir)
  if (eventsFile !== undefined && activityFile !== undefined && isOneOf(activityFile, eventsFile))
    throw usageError(`--activity-file is also an event file: ${activityFile}`, 'name another file')
  return {
    printsEvents: emit === 'stdout-jsonl',
    command,
    maxAttempts: input.number('max-attempts'),
    eventsFile,
    bytesMax: count(input, 'max-bytes'),
    keep: input.number('keep-logs') ?? 1,
    contentChars: input.bool('no-content') ? undefined : input.number('content-chars'),
    heartbeatMs: heartbeat === undefined ? undefined : heartbeat * 1000,
    activityFile,
    ledgerDir,
  }
}

/** The event file, or the template of one per persona, absolute. */
export function eventsFileOf(input: Input, storeDir: string): string | undefined {
  const single = outputFile(input, 'events-file', storeDir)
  const template = outputFile(input, 'events-file-template', storeDir)
  if (single !== undefined && template !== undefined)
    throw usageError('--events-file and --events-file-template exclude each other', 'give one of them')
  if (single?.includes(PLACEHOLDER) === true)
    throw usageError(`--events-file must not hold ${PLACEHOLDER}`, 'use --events-file-template instead')
  if (template !== undefined && !template.includes(PLACEHOLDER))
    throw usageError(
      `--events-file-template must hold ${PLACEHOLDER}`,
      'put {persona} in the path, or use --events-file for one file',
    )
  return single ?? template
}

function outputFile(input: Input, flag: string, storeDir: string): string | undefined {
  const given = input.text(flag)
  if (given === undefined) return undefined
  if (given === '') throw usageError(`--${flag} is empty`, 'name a file')
  const path = resolve(given)
  refuseInside(fixedPart(path), storeDir, `--${flag}`)
  return path
}

/** The path, or the directory of all files of a template. */
export function fixedPart(path: string): string {
  const [fixed = path, ...rest] = path.split(PLACEHOLDER)
  return rest.length === 0 ? path : dirname(`${fixed}x`)
}

/** Whether a path is an event file or a rotated one. */
function isOneOf(path: string, eventsFile: string): boolean {
  const parts = resolveExisting(eventsFile)
    .split(PLACEHOLDER)
    .map(part => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/\\\\]+')}(\\.\\d+)?$`).test(resolveExisting(path))
}

const OUTSIDE = 'name a path outside the store'

function refuseInside(path: string, storeDir: string, what: string, hint = OUTSIDE): void {
  if (!isInside(path, storeDir)) return
  throw usageError(`${what} is inside the store: ${path}`, hint)
}

/**
 * Checks the flags of `run` as far as possible without opening the store. Flags that can never work are an error
 * (CL-12), and flags without effect are logged. The caller closes the source. `env` is the environment of the producer;
 * under a supervisor that is not this shell's. `eventsFile` says whether to create a missing event file, to check only
 * an existing one, or to leave it alone.
 */
export async function judgeFlags(
  input: Input,
  io: Io,
  how: { readonly log: RunLog; readonly env: Environment; readonly eventsFile: 'make' | 'judge' | 'leave' },
): Promise<{ readonly options: RunOptions; readonly source: Source }> {
  const { log, env, eventsFile } = how
  const options = runOptions(input, io)
  for (const message of options.warnings) log({ level: 'warn', code: 'flag_ignored', message })
  checkStoreSource(options)
  const isThere = existsSync(options.sinks.eventsFile ?? '')
  if (eventsFile === 'make' || (eventsFile === 'judge' && isThere)) checkEventsFile(options, log)
  const source = await openSource({
    ...options.server,
    version: VERSION,
    env,
    signal: io.signal,
    onTokenRefused: ({ code, message, hint }) => log({ level: 'error', code, message, hint }),
    onTokenReadAgain: from =>
      log({ level: 'info', code: 'token_read', message: `the token was read again from ${from}` }),
  })
  warnOfPlainHttp(source, log)
  return { options, source }
}

/** KS-93. */
function warnOfPlainHttp({ base, tokenFrom }: Source, log: RunLog): void {
  const { protocol, hostname } = new URL(base)
  if (protocol === 'https:' || tokenFrom === undefined) return
  const address = hostname.replace(/^\[|\]$/g, '')
  if (hostname === 'localhost' || (isIP(address) !== 0 && classOfAddress(address) === 'loopback')) return
  log({
    level: 'warn',
    code: 'token_in_clear',
    message: `${base} uses plain http: others on the network can read the token of ${tokenFrom}`,
    hint: 'use an https URL in --url, or a tunnel on this machine',
  })
}

/**
 * A store of another server is reported before any problem with the server: otherwise it would be the next error. The
 * journal checks it again when it opens the store, so a file that cannot be read is ignored here.
 */
function checkStoreSource({ storeDir, server: { url } }: RunOptions): void {
  parseBaseUrl(url)
  let recorded: string | undefined
  try {
    recorded = recordedSource(storePaths(storeDir).events)
  } catch {
    return
  }
  if (recorded !== undefined) checkSource(storeDir, recorded, url)
}
