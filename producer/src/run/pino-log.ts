import { safeText } from '@kim/cli-kit'
import { type DestinationStream, pino } from 'pino'
import { LogStream } from './log-stream.js'
import type { RunEntry, RunLog } from './run-log.js'

/**
 * JSON lines, written before the call returns where the reader takes them: what a process says last matters most. Names and reasons
 * may come from a server, so what could move a terminal's cursor is escaped (CL-9).
 */
export function pinoLog(destination: DestinationStream = stderrStream()): RunLog {
  const logger = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
    },
    destination,
  )
  return ({ level, code, message, hint, persona, fields }) => {
    const named = persona === undefined ? {} : { persona: safeText(persona) }
    const hinted = hint === undefined ? {} : { hint: safeText(hint) }
    logger[level]({ code, ...named, ...safeFields(fields), ...hinted }, safeText(message))
  }
}

function safeFields(fields: RunEntry['fields'] = {}): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? safeText(value) : value,
    ]),
  )
}

/** A reader of the log that goes away ends other commands, and never the service. */
function stderrStream(): DestinationStream {
  process.stderr.removeAllListeners('error')
  return new LogStream(process.stderr)
}
