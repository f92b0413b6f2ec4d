/** The log of the service: what an entry is, and how it becomes a line on stderr. */
import type { Writable } from 'node:stream'
import { safeText } from '@kim/cli-kit'
import { type DestinationStream, pino } from 'pino'
import type { ServiceLogEntry } from '../journal/store.js'

/** A line of the service's log: what the journal can say, the end of the process, and what it is about. */
export interface RunEntry extends Omit<ServiceLogEntry, 'level'> {
  readonly level: ServiceLogEntry['level'] | 'fatal'
}

/** Where the service says what an operator should know. */
export type RunLog = (entry: RunEntry) => void

/** What the journal says each time it meets a full disk again. */
const ECHOES = new Set(['meta_not_written', 'checkpoint_put_off', 'opened_full'])

/** What each file in one directory says of it. */
const SHARED = new Set(['unsafe_directory'])

/** A log that has a lasting condition once, not once for each part that runs into it. */
export function withoutEchoes(log: RunLog): RunLog {
  const said = new Set<string>()
  return entry => {
    if (entry.code === 'disk_free') said.clear()
    const { code, message } = entry
    const what = ECHOES.has(code) ? code : SHARED.has(code) ? message : undefined
    if (what !== undefined) {
      if (said.has(what)) return
      said.add(what)
    }
    log(entry)
  }
}

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

/** The same as text, for a person at a terminal. */
export function terminalLog(destination: DestinationStream = stderrStream()): RunLog {
  return ({ level, message, hint, persona, fields = {} }) => {
    const word = level === 'info' ? '' : `${level}: `
    const whose = persona === undefined || message.includes(persona) ? '' : `${persona}: `
    const values = Object.entries(level === 'info' ? {} : fields).map(([name, value]) => `${name}=${value}`)
    const more = values.length === 0 ? '' : ` (${values.join(', ')})`
    const line = `${new Date().toTimeString().slice(0, 8)} ${word}${whose}${message}${more}`
    destination.write(`${safeText(line)}\n${hint === undefined ? '' : `  ${safeText(hint)}\n`}`)
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

/** What of a stream a log needs; one that takes nothing more keeps what it was given. */
export type LogOutput = Pick<Writable, 'write' | 'writableLength' | 'on'>

/** So much is kept for a reader that is slow; what comes on top is dropped and counted. */
const KEPT_MAX = 262_144

/**
 * Lines for a reader that may be slow, or missing: writing one never waits (CL-16). What a pipe takes at once is in it
 * when the call returns.
 */
export class LogStream {
  readonly #output: LogOutput
  #dropped = 0

  constructor(output: LogOutput) {
    this.#output = output
    // The service outlives the reader of its log.
    output.on('error', () => undefined)
    output.on('drain', () => this.#sayDropped())
  }

  write(line: string): void {
    if (this.#output.writableLength + line.length > KEPT_MAX) this.#dropped++
    else this.#output.write(line)
  }

  #sayDropped(): void {
    if (this.#dropped === 0) return
    const entry = {
      level: 'warn',
      time: new Date().toISOString(),
      code: 'log_dropped',
      dropped: this.#dropped,
      msg: `dropped ${this.#dropped} log lines, because stderr was not read`,
    }
    this.#dropped = 0
    this.#output.write(`${JSON.stringify(entry)}\n`)
  }
}
