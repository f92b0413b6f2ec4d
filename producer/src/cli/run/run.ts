import { homedir } from 'node:os'
import { type Input, type Io, shellWord, VERSION } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { openControl } from '../../control/server.js'
import { type Core, createCore } from '../../core/core.js'
import { regardless } from '../../effects/every-step.js'
import { aroundSyncs, keepHeapSmall, nodeFileSystem } from '../../effects/system.js'
import { type OpenJournal, openJournalWith } from '../../journal/journal.js'
import type { Ending } from '../../run/main-loop.js'
import { Meters } from '../../run/metrics.js'
import { Producer } from '../../run/producer.js'
import { pinoLog, type RunLog, terminalLog, withoutEchoes } from '../../run/run-log.js'
import { systemdSupervisor } from '../../run/systemd-notify.js'
import type { SinkStatus } from '../../sinks/sink.js'
import type { Watched } from '../../sinks/sinks.js'
import { remedyOf, type Source } from '../../source/source.js'
import { sinksOf } from '../status/sinks.js'
import { judgeFlags, type RunOptions } from './check-flags.js'
import { openSinks, type SinkSet } from './open-sinks.js'

/** The process ends within two seconds, even if a handle stays open or a name server does not answer. */
const EXIT_MS_MAX = 1500
/** The exit codes of such an end. */
const END_CODES: Readonly<Record<Ending['kind'], number>> = { stopped: 0, failed: 1, verdict: 2 }

function endSoon(code: number, last: () => void = () => undefined): void {
  setTimeout(() => {
    last()
    // An exit would wait for the resolver of the system, and so for the name server. A signal does not.
    if (process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) {
      process.removeAllListeners('SIGTERM')
      process.kill(process.pid, 'SIGTERM')
    } else process.exit(process.exitCode ?? code)
  }, EXIT_MS_MAX).unref()
}

/** The service. It checks all it can before it opens the store (CL-12). */
export async function run(input: Input, io: Io): Promise<number> {
  keepHeapSmall()
  const log = withoutEchoes(io.stderr.isTTY === true ? terminalLog() : pinoLog())
  io.signal.addEventListener('abort', () => endSoon(0))
  const { options, source } = await judgeFlags(input, io, { log, env: io.env, eventsFile: 'make' })
  try {
    return io.signal.aborted ? 0 : await serve(options, source, log, io)
  } finally {
    source.close()
  }
}

async function serve(options: RunOptions, source: Source, log: RunLog, io: Io): Promise<number> {
  const { storeDir } = options
  const meters = new Meters()
  const fs = aroundSyncs(nodeFileSystem, meters.sync)
  const journal = openJournalWith({ storeDir, source: source.base, fs, log, ...options.journal })
  let core: Core
  let sinks: SinkSet
  try {
    core = createCore({ ...options.core, dialect: source.dialect }, journal)
    // Before the first poll, so that a new sink gets everything that the poll brings.
    sinks = openSinks(options, journal, () => watchedIn(core, journal), log, io)
    warnOfLeftSinks(journal, sinks.status(), log, io)
  } catch (error) {
    regardless(() => journal.close())
    throw error
  }
  const logFault = faultLog(log)
  let ended: Ending | undefined
  // An error that nothing catches ends the process at once, and is logged like any fault.
  process.on('uncaughtException', error => {
    logFault(ended?.kind === 'failed' ? ended : { kind: 'failed', error })
    process.exit(1)
  })
  const producer = new Producer({
    ...{ storeDir, version: VERSION, journal, source, core, log, meters },
    sinks: () => sinks.status(),
    supervisor: systemdSupervisor(io.env, log),
    onEnd: ending => {
      ended = ending
      endSoon(END_CODES[ending.kind], () => logFault(ending))
    },
    finish: () => sinks.close(),
    openControl: verbs => openControl({ paths: storePaths(storeDir), verbs, env: io.env }),
  })
  // A platform without such a signal never sends it.
  const poke = (): void => void producer.poke()
  const reload = (): void => producer.reload()
  process.on('SIGUSR1', poke)
  process.on('SIGHUP', reload)
  const stop = (): void => producer.stop(String(io.signal.reason))
  io.signal.addEventListener('abort', stop)
  sinks.start()
  try {
    const ending = await producer.run()
    logFault(ending)
    return exitCodeOf(ending, log, source)
  } finally {
    // An open handle must not keep the process alive.
    endSoon(1)
    io.signal.removeEventListener('abort', stop)
    process.off('SIGUSR1', poke)
    process.off('SIGHUP', reload)
  }
}

/** The watched personas with the cursors that people see: the larger of watermark and seed (KS-35). */
function watchedIn(core: Core, { state }: OpenJournal): readonly Watched[] {
  const { personas } = core.status()
  return personas.map(({ persona, armed, watermark }) => {
    const silentTo = state.get('persona', persona)?.payload?.['silent_to']
    const cursor = Math.max(watermark, typeof silentTo === 'number' ? silentTo : 0)
    return { persona, cursor: armed || cursor > 0 ? cursor : undefined }
  })
}

/** Warns of sinks that began on this journal and have no flag any more: their followers get no events. */
function warnOfLeftSinks(
  { projectId, head }: OpenJournal,
  configured: readonly SinkStatus[],
  log: RunLog,
  { env }: Io,
): void {
  const all = sinksOf(env, homedir(), { projectId, headSeq: head.seq }, { sinks: configured })
  for (const { identity, state, file } of all) {
    if (state !== 'idle') continue
    log({
      level: 'warn',
      code: 'sink_left',
      message: `${identity}: the sink is no longer configured and receives no events`,
      hint: `its watermark is kept; start with its flag to continue, or delete the watermark: rm ${shellWord(file)}`,
    })
  }
}

/** Logs the fault that ended the process as the last line, once. It may be called again if a step of the end hangs. */
function faultLog(log: RunLog): (ending: Ending) => void {
  let isLogged = false
  return ending => {
    if (ending.kind !== 'failed' || isLogged) return
    isLogged = true
    const { error } = ending
    const known = error instanceof KimError ? error : undefined
    log({
      level: 'fatal',
      code: known?.code ?? 'internal',
      message: error instanceof Error ? error.message : String(error),
      ...(known === undefined ? {} : { hint: known.hint }),
      fields: known === undefined && error instanceof Error ? { stack: error.stack ?? '' } : {},
    })
  }
}

function exitCodeOf(ending: Ending, log: RunLog, source: Source): number {
  if (ending.kind === 'verdict') throw verdictError(ending.verdict.code, source)
  if (ending.kind === 'stopped') {
    log({ level: 'info', code: 'stopped', message: `stopped: ${ending.reason}` })
    return 0
  }
  return ending.error instanceof KimError ? ending.error.exitCode : 1
}

/** The error for a configuration that the server can never accept. The operator must correct it, like a wrong flag. */
function verdictError(code: NonNullable<Core['verdict']>['code'], source: Source): KimError {
  const { base, tokenFrom } = source
  if (code === 'no_such_persona') {
    return new KimError('config_invalid', `${base} answers 404 for every selected persona`, {
      hint: 'nothing was appended for them; check --url and the persona names (exact case)',
    })
  }
  const shown =
    tokenFrom === undefined ? 'no token was sent' : `the server does not accept the token of ${tokenFrom}`
  return new KimError('token_invalid', `${base} answers 401: ${shown}`, {
    hint: remedyOf('http 401', source) ?? '',
  })
}
