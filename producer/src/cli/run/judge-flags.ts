import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { type Input, type Io, VERSION } from '@kim/cli-kit'
import { type Environment, storePaths } from '@kim/manifest'
import { checkSource } from '../../journal/store.js'
import type { RunLog } from '../../run/run-log.js'
import { classOfAddress, parseBaseUrl } from '../../source/address.js'
import { openSource } from '../../source/kijito.js'
import type { Source } from '../../source/source.js'
import { recordedSource } from '../open-store.js'
import { checkEventsFile } from './open-sinks.js'
import { type RunOptions, runOptions } from './options.js'

/**
 * Checks the flags of `run` as far as possible without opening the store. Flags that can never work are an error
 * (CL-12), and flags without effect are logged. The caller closes the source. `env` is the environment of the producer;
 * under a supervisor that is not this shell's. `eventsFile` says whether to create a missing event file, to check only
 * an existing one, or to leave it alone.
 */
export async function judgeFlags(
  input: Input,
  io: Io,
  {
    log,
    env,
    eventsFile,
  }: { readonly log: RunLog; readonly env: Environment; readonly eventsFile: 'make' | 'judge' | 'leave' },
): Promise<{ readonly options: RunOptions; readonly source: Source }> {
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
