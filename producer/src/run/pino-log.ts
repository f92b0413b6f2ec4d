import { safeText } from '@kim/cli-kit'
import { type DestinationStream, pino } from 'pino'
import type { RunEntry, RunLog } from './run-log.js'

/**
 * JSON lines, written before the call returns: what a process says last is what matters most. Names and reasons
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

/** The service outlives whoever reads its log. */
function stderrStream(): DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true })
  stream.on('error', () => undefined)
  return stream
}
