import { type Io, LineOutput } from '@kim/cli-kit'
import type { Plan } from '../plan.js'
import type { JournalFacts, RecordLine } from '../record-line.js'
import type { Renderer } from '../render/renderer.js'
import { createFilter, searchText } from '../select/filter.js'
import { RateGate } from './rate.js'
import { Reporter } from './reporter.js'
import { rendererOf } from './setup.js'
import { StopWatch } from './stop.js'

/** From a record to a line on stdout: selection, mode, rate and the conditions under which it was the last one. */
export class Printer {
  readonly out: LineOutput
  readonly report: Reporter
  readonly stop: StopWatch
  readonly gate: RateGate | undefined
  readonly selects: (entry: RecordLine) => boolean
  readonly #facts: JournalFacts
  readonly #render: Renderer

  private constructor(plan: Plan, facts: JournalFacts, io: Io, render: Renderer) {
    this.out = new LineOutput(io.stdout)
    const ownLines = plan.fields.length > 0 || plan.template !== undefined
    this.report = new Reporter(plan.mode, plan.quiet, this.out, io.stderr, ownLines)
    this.gate = plan.rate === undefined ? undefined : new RateGate(plan.rate)
    this.#facts = facts
    this.#render = render
    const { untilMatch } = plan
    this.stop = new StopWatch(
      {
        count: plan.count,
        matches: untilMatch === undefined ? undefined : text => untilMatch.test(text),
        timeoutMs: plan.timeoutMs,
        deadlineMs: plan.deadlineMs,
      },
      performance.now(),
    )
    const filter = createFilter(plan.selection, facts.payloadOf)
    this.selects = ({ record }) => filter(record)
  }

  /** The printer of a plan, for the streams of a command. */
  static async create(plan: Plan, facts: JournalFacts, io: Io): Promise<Printer> {
    return new Printer(plan, facts, io, await rendererOf(plan, facts, io))
  }

  /** Prints a record that is selected; true if it was the last one wanted. */
  print(entry: RecordLine): boolean {
    const line = this.#render(entry)
    if (line === undefined) return false
    if (this.gate !== undefined && !this.#admits(entry, this.gate)) return false
    this.out.line(line)
    return this.count(entry)
  }

  /** What is waited for is never held back: it is the last line, behind what was. */
  #admits({ record }: RecordLine, gate: RateGate): boolean {
    const nowMs = performance.now()
    if (this.stop.isAwaited(() => searchText(record, this.#facts.payloadOf(record)))) this.settleRate(true)
    else if (!gate.admits(record.seq, nowMs)) {
      this.stop.onCame(nowMs)
      return false
    }
    return true
  }

  /** Counts a record that reached its reader; true if it was the last one wanted. */
  count({ record }: RecordLine): boolean {
    return this.stop.onPrinted(() => searchText(record, this.#facts.payloadOf(record)), performance.now())
  }

  /** Tells what the rate held back, if its time has come or this is the end. */
  settleRate(atEnd: boolean): void {
    const held = this.gate?.take(performance.now(), atEnd)
    if (held !== undefined) this.report.suppressed(held)
  }
}
