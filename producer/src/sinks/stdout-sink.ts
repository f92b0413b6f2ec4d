import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { isRegularFile } from '@kim/cli-kit'
import { type MonitorEvent, monitorLine } from '@kim/monitor'
import { systemCode } from '../journal/disk-errors.js'
import type { Delivery, Sink } from './sink.js'

const BATCH_MAX = 100
const STDOUT = 1
const LF = 0x0a

/** Writes event lines to stdout. A reader that stops reading, or closes the pipe, must not delay the process. */
export class StdoutSink implements Sink {
  readonly name = 'stdout-jsonl'
  readonly batchMax: number = BATCH_MAX
  readonly #stream: NodeJS.WritableStream
  readonly #file: StdoutFile | undefined

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream
    this.#file = stream === process.stdout && isRegularFile(STDOUT) ? new StdoutFile(STDOUT) : undefined
    // The listener of cli-kit would end the process when the pipe is closed.
    stream.removeAllListeners('error')
    stream.on('error', () => undefined)
  }

  laneOf(): string {
    return ''
  }

  async deliver(_lane: string, events: readonly MonitorEvent[], signal: AbortSignal): Promise<Delivery> {
    const lines = events.map(monitorLine).filter(line => line !== undefined)
    const text = lines.map(line => `${line}\n`).join('')
    try {
      if (this.#file !== undefined) this.#file.append(text)
      else if (!(await this.#write(text, signal))) return { taken: 0 }
      return { taken: events.length }
    } catch (error) {
      return { taken: 0, failure: `stdout: ${systemCode(error) ?? String(error)}` }
    }
  }

  /** Returns false if the end came before the stream took the text. */
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

/**
 * Stdout that is a file. A stream would refuse everything after one error. This writes all of a text or throws, and
 * ends a line that a full disk cut before it begins the next one, because the cut line is written again.
 */
export class StdoutFile {
  readonly #fd: number
  readonly #write: typeof writeSync
  #isTorn: boolean

  constructor(fd: number, write: typeof writeSync = writeSync) {
    this.#fd = fd
    this.#write = write
    this.#isTorn = endsInsideLine(fd)
  }

  /** Throws the error of the system. */
  append(text: string): void {
    const bytes = Buffer.from(`${this.#isTorn ? '\n' : ''}${text}`)
    for (let done = 0; done < bytes.length; ) {
      done += this.#write(this.#fd, bytes, done)
      this.#isTorn = bytes[done - 1] !== LF
    }
  }
}

/** Whether an earlier process left a cut line. False if the file cannot be read: the descriptor may be write-only. */
function endsInsideLine(fd: number): boolean {
  const { size } = fstatSync(fd)
  if (size === 0) return false
  const last = Buffer.alloc(1)
  try {
    const reader = openSync(`/proc/self/fd/${fd}`, 'r')
    try {
      return readSync(reader, last, 0, 1, size - 1) === 1 && last[0] !== LF
    } finally {
      closeSync(reader)
    }
  } catch {
    return false
  }
}
