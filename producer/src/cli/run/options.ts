import { type Input, type Io, usageError } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import type { CoreOptions } from '../../core/core.js'
import type { Dialect } from '../../source/answer.js'
import { storeOf } from '../store-flags.js'
import { type SinkOptions, sinkOptions, sinkWarnings } from './sink-options.js'

/** What `kim-producer run` was told, checked as far as it can be without asking anybody. */
export interface RunOptions {
  readonly storeDir: string
  readonly server: ServerOptions
  /** All of the core's but the dialect, which the server's URL may imply. */
  readonly core: Omit<CoreOptions, 'dialect'>
  readonly journal: { readonly segmentBytes: number; readonly retainRead: number; readonly gc: boolean }
  readonly sinks: SinkOptions
  /** Flags that say something which has no effect beside the others. */
  readonly warnings: readonly string[]
}

/** Which server, and what to show it. */
interface ServerOptions {
  readonly url: string
  readonly dialect: Dialect | undefined
  readonly tokenFile: string | undefined
  readonly authHeader: string | undefined
  readonly allowLoopback: boolean
  readonly allowPrivate: boolean
}

/** Reads the flags; what can never work is a usage error (CL-12). */
export function runOptions(input: Input, io: Io): RunOptions {
  const personas = chosenPersonas(input)
  const storeDir = storeOf(input, io)
  return {
    storeDir,
    server: serverOptions(input),
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
    },
    journal: {
      segmentBytes: count(input, 'segment-bytes'),
      retainRead: count(input, 'retain-read'),
      gc: !input.bool('no-gc'),
    },
    sinks: sinkOptions(input, io, storeDir),
    warnings: [...warnings(input), ...sinkWarnings(input)],
  }
}

function serverOptions(input: Input): ServerOptions {
  const dialect = input.text('dialect')
  return {
    url: input.text('url') ?? '',
    dialect: dialect === 'local' || dialect === 'hosted' ? dialect : undefined,
    tokenFile: input.text('token-file'),
    authHeader: input.text('auth-header'),
    allowLoopback: input.bool('allow-loopback'),
    allowPrivate: input.bool('allow-private'),
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
  if (names.length > limits.personasMax) {
    throw usageError(
      `${names.length} personas are too many: the maximum is ${limits.personasMax}`,
      'follow fewer personas',
    )
  }
  return names
}

function seedAt(input: Input): number | undefined {
  const seed = input.number('seed-at')
  const isAlone = input.list('persona').length === 1 && !input.given('personas')
  if (seed !== undefined && !isAlone) {
    throw usageError('--seed-at needs exactly one --persona', 'give one --persona NAME')
  }
  return seed
}

function warnings(input: Input): string[] {
  const isHeld = input.given('wait') && input.number('wait') !== 0
  return isHeld && input.bool('no-fast-path') ? ['--wait has no effect with --no-fast-path'] : []
}

/** A number that the flag table gives a default. */
function count(input: Input, name: string): number {
  return input.number(name) ?? 0
}
