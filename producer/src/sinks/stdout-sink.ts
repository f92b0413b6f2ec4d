import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { type MonitorEvent, monitorLine } from '@kim/observer-sdk'
import { systemCode } from '../journal/failure.js'
import type { Delivery, Sink } from './sink.js'
import { StdoutFile } from './stdout-file.js'

const BATCH_MAX = 100
const STDOUT = 1

/**
 * Event lines on stdout. Whoever reads them may stop reading, or go away: neither may hold up the process, so a
 * pipe is written to as a stream, and what it does not take stays where it is.
 */
export class StdoutSink implements Sink {
  readonly name = 'stdout-jsonl'
  readonly batchMax: number = BATCH_MAX
  readonly areLanesSlow = false
  readonly skipped: Sink['skipped'] = {}
  readonly names: undefined = undefined
  readonly #stream: NodeJS.WritableStream
  readonly #file: StdoutFile | undefined

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream
    this.#file = stream === process.stdout && isRegularFile(STDOUT) ? new StdoutFile(STDOUT) : undefined
    // Anybody else would take a closed pipe for the end of the command.
    stream.removeAllListeners('error')
    stream.on('error', () => undefined)
  }

  laneOf(): string {
    return ''
  }

  async deliver(_lane: string, events: readonly MonitorEvent[], signal: AbortSignal): Promise<Delivery> {
    const text = events
      .map(monitorLine)
      .filter(line => line !== undefined)
      .map(line => `${line}\n`)
      .join('')
    try {
      if (this.#file !== undefined) this.#file.append(text)
      else if (!(await this.#write(text, signal))) return { taken: 0 }
      return { taken: events.length }
    } catch (error) {
      return { taken: 0, failure: `stdout: ${systemCode(error) ?? String(error)}` }
    }
  }

  close(): void {
    // It is the process's own.
  }

  /** False if nobody took it before the end. */
  async #write(text: string, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    const written = new Promise<boolean>((resolve, reject) => {
      this.#stream.write(text, error => (error ? reject(error) : resolve(true)))
    })
    const ended = new AbortController()
    const aborted = once(signal, 'abort', { signal: ended.signal }).then(
      () => false,
      () => false,
    )
    try {
      return await Promise.race([written, aborted])
    } finally {
      ended.abort()
    }
  }
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}
