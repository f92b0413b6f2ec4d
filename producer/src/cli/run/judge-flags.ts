import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import type { Input, Io } from '@kim/cli-kit'
import { type Environment, storePaths } from '@kim/manifest'
import { checkSource } from '../../journal/store.js'
import type { RunLog } from '../../run/run-log.js'
import { classOfAddress } from '../../source/address.js'
import { parseBaseUrl } from '../../source/base-url.js'
import { openSource } from '../../source/open-source.js'
import type { Source } from '../../source/source.js'
import { recordedSource } from '../recorded-source.js'
import { version } from '../version.js'
import { checkEventsFile } from './open-sinks.js'
import { type RunOptions, runOptions } from './options.js'

/** For whom flags are judged. */
export interface JudgeParts {
  /** Hears of flags that have no effect, and of what was put right on the way. */
  readonly log: RunLog
  /** What the producer will find in its environment: under a supervisor that is not this shell's. */
  readonly env: Environment
  /** Whether a shared event file is made if it is not there, judged if it is, or left alone. */
  readonly eventsFile: 'make' | 'judge' | 'leave'
}

/** The flags of `run`, and the way to the server, which is whoever asked to close. */
export interface JudgedFlags {
  readonly options: RunOptions
  readonly source: Source
}

/**
 * Judges the flags of `run` as far as that can be done without the store: what can never work is refused (CL-12), what
 * has no effect is named. Whoever keeps the flags for later judges them by the same words.
 */
export async function judgeFlags(
  input: Input,
  io: Io,
  { log, env, eventsFile }: JudgeParts,
): Promise<JudgedFlags> {
  const options = runOptions(input, io)
  for (const message of options.warnings) log({ level: 'warn', code: 'flag_ignored', message })
  checkStoreSource(options)
  const isThere = existsSync(options.sinks.eventsFile ?? '')
  if (eventsFile === 'make' || (eventsFile === 'judge' && isThere)) {
    checkEventsFile(options.sinks, options.storeDir, log)
  }
  const source = await openSource({
    ...options.server,
    version,
    env,
    signal: io.signal,
    onTokenRefused: ({ code, message, hint }) => log({ level: 'error', code, message, hint }),
    onTokenReadAgain: from =>
      log({ level: 'info', code: 'token_read', message: `the token was read again from ${from}` }),
  })
  sayPlain(source, log)
  return { options, source }
}

/** What is sent in the clear beyond this machine, anybody on the way can read (KS-93). */
function sayPlain({ base, tokenFrom }: Source, log: RunLog): void {
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
 * Whose store it is comes before everything that could be said about the server: with the address mended, this would
 * be the next refusal. The open judges it again, under the lock; what cannot be read here is its matter too.
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
