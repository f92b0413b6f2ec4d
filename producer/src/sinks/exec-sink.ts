import { StringDecoder } from 'node:string_decoder'
import { execEnvironment, type MonitorEvent, runExec } from '@kim/observer-sdk'
import type { SinkLog } from './log.js'
import type { Delivery, Sink } from './sink.js'

type Environment = Readonly<Record<string, string | undefined>>

/** So much of what a run prints is said in the log; the rest is read and forgotten. */
const OUTPUT_BYTES_MAX = 2000

/** A command for each event, one at a time; that it exits 0 is the receipt (KS-74). */
export class ExecSink implements Sink {
  readonly name = 'exec-per-event'
  readonly batchMax = 1
  readonly judgesEvents = true
  readonly names: undefined = undefined
  readonly #command: string
  readonly #env: Environment
  readonly #log: SinkLog
  /** What the last run printed, and about which event: each try of one prints the same again. */
  #said = ''

  constructor(command: string, env: Environment, log: SinkLog) {
    this.#command = command
    this.#env = env
    this.#log = log
  }

  laneOf(): string {
    return ''
  }

  async deliver(_lane: string, events: readonly MonitorEvent[], signal: AbortSignal): Promise<Delivery> {
    let taken = 0
    for (const event of events) {
      const output = new Output()
      const env = execEnvironment(event, this.#env)
      const outcome = await runExec(this.#command, env, signal, { onOutput: chunk => output.take(chunk) })
      this.#say(event, output)
      if (outcome.kind === 'interrupted') return { taken }
      if (outcome.kind === 'refused') return { taken, failure: `the command ${outcome.why}` }
      taken++
    }
    return { taken }
  }

  close(): void {
    // Nothing is kept between two runs.
  }

  #say(event: MonitorEvent, output: Output): void {
    if (output.bytes === 0) return
    const { event_id } = event
    const said = `${event_id}\n${output.text}`
    if (said === this.#said) return
    this.#said = said
    const fields = { event_id, output: output.text, bytes: output.bytes }
    this.#log({ level: 'info', code: 'exec_output', message: 'the command printed output', fields })
  }
}

/** The beginning of what a command prints, and how much it was. */
class Output {
  readonly #decoder = new StringDecoder('utf8')
  #text = ''
  #bytes = 0

  take(chunk: Buffer): void {
    const room = OUTPUT_BYTES_MAX - this.#bytes
    if (room > 0) this.#text += this.#decoder.write(chunk.subarray(0, room))
    this.#bytes += chunk.length
  }

  get text(): string {
    return this.#text
  }

  get bytes(): number {
    return this.#bytes
  }
}
