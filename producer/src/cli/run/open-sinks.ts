import { type Io, usageError } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { payloadOf } from '@kim/observer-sdk/history'
import { systemClock } from '../../effects/clock.js'
import { everyEnd } from '../../effects/every-step.js'
import { nodeFileSystem } from '../../effects/file-system.js'
import { currentHost } from '../../effects/host.js'
import { loopTimers } from '../../effects/timers.js'
import { systemCode } from '../../journal/failure.js'
import { Disk } from '../../journal/file-ops.js'
import type { Journal } from '../../journal/journal.js'
import type { RunLog } from '../../run/run-log.js'
import { ActivityReport } from '../../sinks/activity-report.js'
import { EventFile, type EventFileParts } from '../../sinks/event-file.js'
import { ExecSink, progressByInbox } from '../../sinks/exec-sink.js'
import { FileSink } from '../../sinks/file-sink.js'
import type { SinkStatus } from '../../sinks/sink.js'
import { type SinkPlan, Sinks, type Watched } from '../../sinks/sinks.js'
import { StdoutSink } from '../../sinks/stdout-sink.js'
import type { SinkOptions } from './sink-options.js'

/** What sinks are opened with besides their flags. */
export interface SinkHost {
  readonly storeDir: string
  readonly journal: Journal
  readonly watched: () => readonly Watched[]
  readonly log: RunLog
  readonly io: Io
}

/** A command gets no more of a body than the system lets into one variable. */
const EXEC_CHARS_MAX = 30_000

/** What the system says where a path is denied, and may not be tomorrow. */
const DENIED = new Set(['EACCES', 'EPERM'])

/**
 * A shared event file that is none is refused before anything is asked (CL-12). What merely keeps it from being opened
 * now is in the way of that sink alone, and is said.
 */
export function checkEventsFile(options: SinkOptions, storeDir: string, log: RunLog): void {
  const { eventsFile } = options
  if (eventsFile === undefined || eventsFile.includes('{persona}')) return
  const file = new EventFile(eventsFile, fileParts(options, storeDir, log))
  try {
    file.open()
  } catch (error) {
    if (!(error instanceof KimError)) throw error
    if (mayPass(error)) {
      log({
        level: 'warn',
        code: 'sink_not_open',
        message: `--events-file: ${error.message}`,
        hint: 'the journal is not affected; the sink keeps its events and retries the file',
      })
      return
    }
    throw usageError(
      `--events-file: ${error.message}`,
      'name a regular file that belongs to you, or a new file',
    )
  } finally {
    file.close()
  }
}

/** Whether it is the system that keeps a file from being opened, and not what the file is or whose: those say no errno. */
function mayPass({ code, cause }: KimError): boolean {
  return code !== 'not_permitted' || DENIED.has(systemCode(cause) ?? '')
}

/** Everything that tells others what happens, besides the journal itself. */
export interface SinkSet {
  start(): void
  /** How each sink is. */
  status(): readonly SinkStatus[]
  close(): Promise<void>
}

/** What was asked for, the sinks standing at their watermarks. */
export function openSinks(options: SinkOptions, host: SinkHost): SinkSet {
  const sinks = sinksOf(options, host)
  const members = [sinks, ...activityOf(options, host)]
  return {
    status: () => sinks.status(),
    start: () => {
      for (const member of members) member.start()
    },
    close: () => everyEnd(members.map(member => member.close())),
  }
}

function activityOf({ activityFile }: SinkOptions, { storeDir, log }: SinkHost): ActivityReport[] {
  if (activityFile === undefined) return []
  const { events } = storePaths(storeDir)
  const effects = { disk: disk(log), clock: systemClock, timers: loopTimers, log }
  return [new ActivityReport({ path: activityFile, eventsDir: events, ...effects })]
}

function sinksOf(options: SinkOptions, { storeDir, journal, watched, log, io }: SinkHost): Sinks {
  const { events } = storePaths(storeDir)
  const contentChars =
    options.contentChars === undefined || options.command === undefined
      ? options.contentChars
      : Math.min(options.contentChars, EXEC_CHARS_MAX)
  return new Sinks({
    plans: sinkPlans(options, storeDir, log, io),
    around: {
      eventsDir: events,
      facts: { projectId: () => journal.projectId, payloadOf: record => payloadOf(events, record) },
      contentChars,
      durableSeq: () => (journal.failure === undefined ? journal.head.seq : undefined),
      clock: systemClock,
      timers: loopTimers,
      log,
    },
    ledgerDir: options.ledgerDir,
    projectId: journal.projectId,
    disk: disk(log),
    head: journal.head,
    heartbeatMs: options.heartbeatMs,
    watched,
  })
}

/** The sinks that the flags name, unopened. */
export function sinkPlans(options: SinkOptions, storeDir: string, log: RunLog, io: Io): SinkPlan[] {
  const { command, eventsFile, maxAttempts, printsEvents } = options
  const plans: SinkPlan[] = []
  if (printsEvents) plans.push({ identity: 'stdout-jsonl', make: () => new StdoutSink(io.stdout) })
  if (command !== undefined) {
    const effects = { monoMs: systemClock.monoMs, after: loopTimers.after }
    plans.push({
      identity: 'exec-per-event',
      adopt: progressByInbox,
      make: () => new ExecSink({ command, env: io.env, maxAttempts }, log, effects),
    })
  }
  if (eventsFile !== undefined) {
    const parts = fileParts(options, storeDir, log)
    plans.push({
      identity: `file:${eventsFile}`,
      make: (names, refused) => new FileSink(eventsFile, parts, names, refused),
    })
  }
  return plans
}

function fileParts({ bytesMax, keep }: SinkOptions, storeDir: string, log: RunLog): EventFileParts {
  return { fs: nodeFileSystem, disk: disk(log), uid: currentHost().uid, log, storeDir, bytesMax, keep }
}

function disk(log: RunLog): Disk {
  return new Disk(nodeFileSystem, currentHost().uid, {}, log)
}
