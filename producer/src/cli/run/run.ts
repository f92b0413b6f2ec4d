import type { Input, Io } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { openControl } from '../../control/server.js'
import type { Core } from '../../core/core.js'
import { createCore } from '../../core/create-core.js'
import { systemClock } from '../../effects/clock.js'
import { regardless } from '../../effects/every-step.js'
import { aroundSyncs, nodeFileSystem } from '../../effects/file-system.js'
import { keepHeapSmall } from '../../effects/heap.js'
import { openJournalWith } from '../../journal/journal.js'
import type { Ending } from '../../run/driver.js'
import { Meters } from '../../run/meters.js'
import { pinoLog } from '../../run/pino-log.js'
import { Producer } from '../../run/producer.js'
import { type RunLog, withoutEchoes } from '../../run/run-log.js'
import { listenToSignals } from '../../run/signals.js'
import { systemdSupervisor } from '../../run/supervisor.js'
import type { Watched } from '../../sinks/sinks.js'
import { remedyOf } from '../../source/remedy.js'
import type { Source } from '../../source/source.js'
import { version } from '../version.js'
import { judgeFlags } from './judge-flags.js'
import { sayLeftSinks } from './left-sinks.js'
import { openSinks, type SinkSet } from './open-sinks.js'
import type { RunOptions } from './options.js'
import { watchedOf } from './watched-personas.js'

/** A handle that nobody closes, or a name server that is silent, must not hold up an end promised within two seconds. */
const EXIT_MS_MAX = 1500
/** What such an end exits with. */
const END_CODES: Readonly<Record<Ending['kind'], number>> = { stopped: 0, failed: 1, verdict: 2 }

/** From the signal itself, or from the end of the driver where none came. */
function endSoon(code: number, last: () => void = () => undefined): void {
  setTimeout(() => {
    last()
    // An exit would wait for the system's resolver, however long that waits for a name server; a signal does not.
    if (process.getActiveResourcesInfo().includes('GetAddrInfoReqWrap')) {
      process.removeAllListeners('SIGTERM')
      process.kill(process.pid, 'SIGTERM')
    } else process.exit(process.exitCode ?? code)
  }, EXIT_MS_MAX).unref()
}

/** The service: everything that can be judged without the store is judged before it is opened (CL-12). */
export async function run(input: Input, io: Io): Promise<number> {
  keepHeapSmall()
  const log = withoutEchoes(pinoLog())
  io.signal.addEventListener('abort', () => endSoon(0))
  const { options, source } = await judgeFlags(input, io, { log, env: io.env, eventsFile: 'make' })
  if (io.signal.aborted) {
    source.close()
    return 0
  }
  try {
    return await serve(options, source, log, io)
  } finally {
    source.close()
  }
}

async function serve(
  { storeDir, core: choices, journal: care, sinks: told }: RunOptions,
  source: Source,
  log: RunLog,
  io: Io,
): Promise<number> {
  const meters = new Meters()
  const fs = aroundSyncs(nodeFileSystem, meters.sync)
  const journal = openJournalWith({ storeDir, source: source.base, fs, log, ...care })
  let core: Core
  let sinks: SinkSet
  try {
    core = createCore({ ...choices, dialect: source.dialect }, journal)
    const watched = (): readonly Watched[] =>
      watchedOf(core.status({ monoMs: systemClock.monoMs(), wallMs: systemClock.wallMs() }), journal.state)
    // Before the first poll, so that a sink that begins now misses nothing of what that brings.
    sinks = openSinks(told, { storeDir, journal, watched, log, io })
    sayLeftSinks(journal, sinks.status(), log, io)
  } catch (error) {
    regardless(() => journal.close())
    throw error
  }
  const sayFault = faultLine(log)
  let ended: Ending | undefined
  // Whatever throws where nothing catches it ends the process at once, and says so in the log as any fault does.
  process.on('uncaughtException', error => {
    sayFault(ended?.kind === 'failed' ? ended : { kind: 'failed', error })
    process.exit(1)
  })
  const paths = storePaths(storeDir)
  const producer = new Producer({
    ...{ storeDir, version, journal, source, core, log, meters },
    sinks: () => sinks.status(),
    supervisor: systemdSupervisor(io.env, log),
    onEnd: ending => {
      ended = ending
      endSoon(END_CODES[ending.kind], () => sayFault(ending))
    },
    finish: () => sinks.close(),
    openControl: verbs => openControl({ paths, verbs, env: io.env }),
  })
  const stopListening = listenToSignals({ poke: () => void producer.poke(), reload: () => producer.reload() })
  const stop = (): void => producer.stop(String(io.signal.reason))
  io.signal.addEventListener('abort', stop)
  sinks.start()
  try {
    const ending = await producer.run()
    sayFault(ending)
    return exitCodeOf(ending, log, source)
  } finally {
    // Whatever is open still must not keep a process that does nothing more.
    endSoon(1)
    io.signal.removeEventListener('abort', stop)
    stopListening()
  }
}

/** Says the fault that was the end, as the last line of the log; once, also where a step of the end never returns. */
function faultLine(log: RunLog): (ending: Ending) => void {
  let isSaid = false
  return ending => {
    if (ending.kind !== 'failed' || isSaid) return
    isSaid = true
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

/** A verdict is the operator's to mend, as a wrong flag is. */
function exitCodeOf(ending: Ending, log: RunLog, source: Source): number {
  if (ending.kind === 'verdict') {
    throw verdictError(ending.verdict.code, source)
  }
  if (ending.kind === 'stopped') {
    log({ level: 'info', code: 'stopped', message: `stopped: ${ending.reason}` })
    return 0
  }
  return ending.error instanceof KimError ? ending.error.exitCode : 1
}

/** What can never work, with the server, and the place of the token, that it is about. */
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
