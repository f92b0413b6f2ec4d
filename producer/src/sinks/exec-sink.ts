import { StringDecoder } from 'node:string_decoder'
import {
  type CommandEffects,
  type CommandPlan,
  type CommandRefusal,
  CommandRunner,
  type MonitorEvent,
} from '@kim/monitor'
import type { Delivery, Sink, SinkLog } from './sink.js'
import type { SinkState } from './watermark-file.js'

/** The log gets this much of what a command prints. */
const OUTPUT_BYTES_MAX = 2000

/** The lane of records that name no inbox. It is not '', the single lane of an earlier version. */
const NO_INBOX = 'kim'

/** Runs a command for each event, one at a time for each inbox. Exit 0 acknowledges the event (KS-74). */
export class ExecSink implements Sink {
  readonly name = 'exec-per-event'
  readonly batchMax = 1
  readonly areLanesSlow = true
  readonly #runner: CommandRunner
  readonly #log: SinkLog
  /** For each lane, the last event and its output: retries print the same again, which is logged once. */
  readonly #printed: Map<string, string> = new Map()

  constructor(plan: CommandPlan, log: SinkLog, effects?: Partial<CommandEffects>) {
    this.#runner = new CommandRunner(plan, effects)
    this.#log = log
  }

  get skipped(): Readonly<Record<string, number>> {
    return this.#runner.skipped
  }

  laneOf(persona: string): string {
    return persona === '' ? NO_INBOX : persona
  }

  async deliver(
    lane: string,
    events: readonly MonitorEvent[],
    signal: AbortSignal,
    onRefused?: (refusal: CommandRefusal) => void,
  ): Promise<Delivery> {
    const [event] = events
    if (event === undefined) return { taken: 0 }
    let output = new Output()
    const endTry = (): void => {
      this.#logOutput(lane, event, output)
      output = new Output()
    }
    const delivery = await this.#runner.deliver(event, {
      signal,
      onOutput: chunk => output.take(chunk),
      onRefused: refusal => {
        endTry()
        onRefused?.({ ...refusal, why: `the command ${refusal.why}` })
      },
    })
    endTry()
    if (delivery.kind === 'interrupted') return { taken: 0 }
    if (delivery.kind === 'acknowledged') return { taken: 1 }
    const { tries, why } = delivery
    return { taken: 1, skipped: { event, tries, why: `the command ${why}` } }
  }

  #logOutput(lane: string, { event_id }: MonitorEvent, output: Output): void {
    if (output.bytes === 0) return
    const printed = `${event_id}\n${output.text}`
    if (printed === this.#printed.get(lane)) return
    this.#printed.set(lane, printed)
    const fields = { event_id, output: output.text, bytes: output.bytes }
    this.#log({ level: 'info', code: 'exec_output', message: 'the command printed output', fields })
  }
}

/** An earlier version kept one position for all inboxes, in the lane '': each inbox continues from there (KS-72). */
export function progressByInbox(progress: SinkState): SinkState {
  const single = progress.held.find(([lane]) => lane === '')
  return single === undefined ? progress : { ...progress, passed: single[1], held: [] }
}

/** The beginning of what a command prints, and the size of all of it. */
class Output {
  readonly #decoder = new StringDecoder('utf8')
  text = ''
  bytes = 0

  take(chunk: Buffer): void {
    const room = OUTPUT_BYTES_MAX - this.bytes
    if (room > 0) this.text += this.#decoder.write(chunk.subarray(0, room))
    this.bytes += chunk.length
  }
}
