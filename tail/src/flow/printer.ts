/** From a record to a line on stdout: selection, output mode, rate, and the conditions that make it the last line. */
import { type Io, LineOutput, safeJson } from '@kim/cli-kit'
import type { JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import type { Plan, Rate } from '../plan.js'
import type { Look, Renderer } from '../render/short.js'
import { createFilter, searchText } from '../selection.js'
import { Reporter, type Suppressed } from './reporter.js'
import { StopWatch } from './timetable.js'

/** Prints the records of one command. */
export class Printer {
  readonly out: LineOutput
  readonly report: Reporter
  readonly stop: StopWatch
  readonly gate: RateGate | undefined
  readonly selects: (entry: JournalLine) => boolean
  readonly #facts: JournalFacts
  readonly #render: Renderer

  private constructor(plan: Plan, facts: JournalFacts, io: Io, render: Renderer) {
    this.out = new LineOutput(io.stdout)
    const ownLines = plan.fields.length > 0 || plan.template !== undefined
    this.report = new Reporter(plan.mode, plan.quiet, this.out, io.stderr, ownLines)
    this.gate = plan.rate === undefined ? undefined : new RateGate(plan.rate)
    this.#facts = facts
    this.#render = render
    this.stop = new StopWatch(plan, performance.now())
    const filter = createFilter(plan.selection, facts.payloadOf)
    this.selects = ({ record }) => filter(record)
  }

  /** The printer of a plan, for the streams of a command. */
  static async create(plan: Plan, facts: JournalFacts, io: Io): Promise<Printer> {
    return new Printer(plan, facts, io, await rendererOf(plan, facts, io))
  }

  /** Prints a record that is selected; true if it was the last one wanted. */
  print(entry: JournalLine): boolean {
    const line = this.#render(entry)
    if (line === undefined || !this.#admits(entry)) return false
    const before = this.#render.before?.(entry)
    if (before !== undefined) this.out.line(before)
    this.out.line(line)
    return this.count(entry)
  }

  /** A record that the command waits for is never suppressed: it is the last line, after those that were. */
  #admits({ record }: JournalLine): boolean {
    if (this.gate === undefined) return true
    const nowMs = performance.now()
    if (this.stop.isAwaited(() => searchText(record, this.#facts.payloadOf(record)))) this.settleRate(true)
    else if (!this.gate.admits(record.seq, nowMs)) {
      this.stop.onCame(nowMs)
      return false
    }
    return true
  }

  /** Counts a record that reached its reader; true if it was the last one wanted. */
  count({ record }: JournalLine): boolean {
    return this.stop.onPrinted(() => searchText(record, this.#facts.payloadOf(record)), performance.now())
  }

  /** Reports what the rate suppressed, if its time has come or this is the end. */
  settleRate(atEnd: boolean): void {
    const held = this.gate?.take(performance.now(), atEnd)
    if (held !== undefined) this.report.suppressed(held)
  }
}

/**
 * Lets the first lines of each window pass and counts the rest: so a flood costs its reader a bounded number of lines
 * and one that says how many are left out. A window begins with a line.
 */
export class RateGate {
  readonly #rate: Rate
  #windowMs = Number.NEGATIVE_INFINITY
  #passed = 0
  #suppressed: Suppressed | undefined

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Whether the record with this seq may be printed now. */
  admits(seq: number, nowMs: number): boolean {
    const { n = 0, first = seq } = this.#suppressed ?? {}
    if (n === 0 && nowMs - this.#windowMs >= this.#rate.perMs) {
      this.#windowMs = nowMs
      this.#passed = 0
    }
    if (n === 0 && this.#passed < this.#rate.lines) {
      this.#passed += 1
      return true
    }
    this.#suppressed = { n: n + 1, first, last: seq }
    return false
  }

  /** When to report what was suppressed; undefined if nothing was. */
  get dueAtMs(): number | undefined {
    return this.#suppressed && this.#windowMs + this.#rate.perMs
  }

  /** What was suppressed, once its window is over (or now, at the end). The report is the first line of a new window. */
  take(nowMs: number, atEnd = false): Suppressed | undefined {
    const suppressed = this.#suppressed
    if (suppressed === undefined || (!atEnd && nowMs < (this.dueAtMs ?? 0))) return undefined
    this.#suppressed = undefined
    this.#windowMs = nowMs
    this.#passed = 1
    return suppressed
  }
}

/** The stored line, byte for byte, so that its hash still verifies. The one mode that escapes nothing. */
export const renderJson: Renderer = entry => entry.line

/** The record over several lines, unsafe characters as escapes. */
export const renderJsonPretty: Renderer = entry => safeJson(JSON.stringify(entry.record.raw, null, 2))

/** The renderer of a plan. Each call of kim-tail pays for what it loads, so only the renderer's own code is loaded. */
async function rendererOf(plan: Plan, facts: JournalFacts, io: Io): Promise<Renderer> {
  const { bodyChars, fields, journalFlag, maxLine, mode, template } = plan
  if (template !== undefined) return (await import('../render/fields.js')).createTemplate(template, facts)
  if (fields.length > 0) {
    const { createFields, createJsonFields } = await import('../render/fields.js')
    return (mode === 'json' ? createJsonFields : createFields)(fields, facts)
  }
  const isTerminal = io.stdout.isTTY === true
  const look: Omit<Look, 'colour'> = {
    facts,
    nowMs: Date.now,
    utc: plan.utc,
    prefix: plan.prefix || (mode !== 'cat' && plan.selection.personas.length !== 1),
    bodyChars,
    full: plan.full,
    // A terminal of unknown size has 0 columns.
    columns: isTerminal ? io.stdout.columns || 80 : undefined,
  }
  switch (mode) {
    case 'json':
      return renderJson
    case 'json-pretty':
      return renderJsonPretty
    case 'agent':
      return (await import('../render/agent.js')).createAgent({ ...look, journalFlag, maxLine })
    case 'monitor': {
      const { createMonitor } = await import('../render/events.js')
      return createMonitor({ facts, contentChars: bodyChars, platform: process.platform })
    }
    case 'cloudevents':
      return (await import('../render/events.js')).createCloudEvents(facts)
    default: {
      const { createCat, createShort, wantsColour } = await import('../render/short.js')
      if (mode === 'cat') return createCat(look)
      return createShort({ ...look, colour: wantsColour(plan.color, io.env, isTerminal) }, mode)
    }
  }
}
