import { type Io, usageError } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { payloadOf } from '@kim/observer-sdk/history'
import { everyEnd } from '../../effects/every-step.js'
import { currentHost, loopTimers, nodeFileSystem, systemClock } from '../../effects/system.js'
import { systemCode } from '../../journal/disk-errors.js'
import { Disk } from '../../journal/file-ops.js'
import type { OpenJournal } from '../../journal/journal.js'
import type { RunLog } from '../../run/run-log.js'
import { ActivityReport } from '../../sinks/activity-report.js'
import { EventFile, type EventFileParts } from '../../sinks/event-file.js'
import { ExecSink, progressByInbox } from '../../sinks/exec-sink.js'
import { FileSink } from '../../sinks/file-sink.js'
import type { SinkStatus } from '../../sinks/sink.js'
import { type SinkPlan, Sinks, type Watched } from '../../sinks/sinks.js'
import { StdoutSink } from '../../sinks/stdout-sink.js'
import type { RunOptions } from './check-flags.js'

type SinkSetup = Pick<RunOptions, 'sinks' | 'storeDir'>

/** An environment variable can hold a limited number of bytes. */
const EXEC_CHARS_MAX = 30_000

/** The system denies access to a path, but may not do so tomorrow. */
const DENIED = new Set(['EACCES', 'EPERM'])

/**
 * An event file that is another kind of file is a usage error (CL-12). If the system only denies access now, that is
 * logged, and the sink retries.
 */
export function checkEventsFile(options: SinkSetup, log: RunLog): void {
  const { eventsFile } = options.sinks
  if (eventsFile === undefined || eventsFile.includes('{persona}')) return
  const file = new EventFile(eventsFile, fileParts(options, log))
  try {
    file.open()
  } catch (error) {
    if (!(error instanceof KimError)) throw error
    const message = `--events-file: ${error.message}`
    if (error.code === 'not_permitted' && !DENIED.has(systemCode(error.cause) ?? ''))
      throw usageError(message, 'name a regular file that belongs to you, or a new file')
    const hint = 'the journal is not affected; the sink keeps its events and retries the file'
    log({ level: 'warn', code: 'sink_not_open', message, hint })
  } finally {
    file.close()
  }
}

/** The sinks of a producer and its activity report. */
export interface SinkSet {
  start(): void
  status(): readonly SinkStatus[]
  close(): Promise<void>
}

/** Opens the sinks that the flags name, at their watermarks. */
export function openSinks(
  options: SinkSetup,
  journal: OpenJournal,
  watched: () => readonly Watched[],
  log: RunLog,
  io: Io,
): SinkSet {
  const { activityFile, command, contentChars, heartbeatMs, ledgerDir } = options.sinks
  const { events: eventsDir } = storePaths(options.storeDir)
  const effects = { clock: systemClock, timers: loopTimers, log }
  const disk = diskOf(log)
  const sinks = new Sinks({
    plans: sinkPlans(options, log, io),
    around: {
      eventsDir,
      facts: { projectId: () => journal.projectId, payloadOf: record => payloadOf(eventsDir, record) },
      contentChars:
        contentChars === undefined || command === undefined
          ? contentChars
          : Math.min(contentChars, EXEC_CHARS_MAX),
      durableSeq: () => (journal.failure === undefined ? journal.head.seq : undefined),
      ...effects,
    },
    ledgerDir,
    projectId: journal.projectId,
    disk,
    head: journal.head,
    heartbeatMs,
    watched,
  })
  const activity =
    activityFile === undefined
      ? []
      : [new ActivityReport({ path: activityFile, eventsDir, disk, ...effects })]
  const members = [sinks, ...activity]
  return {
    status: () => sinks.status(),
    start: () => {
      for (const member of members) member.start()
    },
    close: () => everyEnd(members.map(member => member.close())),
  }
}

/** The sinks that the flags name, not opened. */
export function sinkPlans(options: SinkSetup, log: RunLog, io: Io): SinkPlan[] {
  const { command, eventsFile, maxAttempts, printsEvents } = options.sinks
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
    const parts = fileParts(options, log)
    plans.push({
      identity: `file:${eventsFile}`,
      make: (names, refused) => new FileSink(eventsFile, parts, names, refused),
    })
  }
  return plans
}

function fileParts({ sinks: { bytesMax, keep }, storeDir }: SinkSetup, log: RunLog): EventFileParts {
  return { fs: nodeFileSystem, disk: diskOf(log), uid: currentHost().uid, log, storeDir, bytesMax, keep }
}

function diskOf(log: RunLog): Disk {
  return new Disk(nodeFileSystem, currentHost().uid, {}, log)
}
