/** What kim-tail says besides records. */
import { basename } from 'node:path'
import { formatCount, type Io, type LineOutput, safeText } from '@kim/cli-kit'
import { KimError, parseSegmentName } from '@kim/manifest'
import type { Gap, ReadFailure } from '@kim/observer-sdk'
import type { JournalHistory } from '@kim/observer-sdk/history'
import type { Mode } from '../plan.js'
import { type ControlFacts, controlLine, withoutTags } from '../render/agent.js'

/** Records that a rate suppressed. */
export interface Suppressed {
  readonly n: number
  readonly first: number
  readonly last: number
}

/** A gap in words, by its reason. */
function gapText({ from, reason, to }: Gap, isEnd = false): string {
  if (reason === 'rewound') {
    const goesOn = isEnd ? '' : `; continuing at record ${from}, so some records may come again`
    return `the journal was replaced or restored to an earlier state${goesOn}`
  }
  const range = `records ${from} to ${to}`
  return reason === 'missing'
    ? `${range} are missing from the journal`
    : `${range} are not available: the journal now begins at record ${to + 1}`
}

/** A gap as an error. Records of a file that cannot be read are not missing: the file has to be named. */
export function gapError(gap: Gap, past: JournalHistory | undefined): KimError {
  const { from, reason, to } = gap
  const home = past?.segmentOf(from)?.number ?? 1
  past?.read(home, () => undefined)
  const failure = past?.failures.find(({ path }) => {
    const number = parseSegmentName(basename(path)) ?? from
    return number >= home && number <= to
  })
  if (failure === undefined || reason === 'rewound') return new KimError('gap_found', gapText(gap, true))
  const { code, path } = failure
  return new KimError('gap_found', `records ${from} to ${to} cannot be read: ${safeText(path)} (${code})`, {
    hint: 'make the file readable, then repeat; leave out --on-gap fail only to skip these records',
  })
}

/** The first line of an agent. */
export interface Readiness {
  readonly seq: number
  readonly unhandled: number
  readonly oldest: string | undefined
  readonly producer: string
}

/**
 * Says what is no record. An agent sees nothing but stdout, so it gets control lines there, which no record can forge.
 * Everyone else reads stderr, so that stdout stays data.
 */
export class Reporter {
  readonly #agent: boolean
  readonly #inline: boolean
  readonly #quiet: boolean
  readonly #out: LineOutput
  readonly #stderr: Io['stderr']

  /** `ownLines`: a record may be printed as any text, so only stderr differs from records. */
  constructor(mode: Mode, quiet: boolean, out: LineOutput, stderr: Io['stderr'], ownLines = false) {
    this.#agent = mode === 'agent'
    this.#inline = !ownLines && (mode === 'short' || mode === 'short-iso')
    this.#quiet = quiet
    this.#out = out
    this.#stderr = stderr
  }

  /** Something that a person should know. Agents get it as a control line of that name. */
  say(name: string, text: string, facts: ControlFacts = {}): void {
    if (this.#agent) this.#control(name, facts)
    else this.#note(text)
  }

  /** Once, before anything else. */
  ready(facts: Readiness): void {
    this.#control('ready', { ...facts })
  }

  /** All existing records are printed. */
  caughtUp(seq: number): void {
    this.say('caught_up', `caught up at seq ${seq}`, { seq })
  }

  /** No record was selected: a person who sees an empty screen asks whether it works. `more`: what would print some. */
  nothing(more: string): void {
    if (!this.#agent && this.#stderr.isTTY === true) this.#note(`no existing record is selected${more}`)
  }

  /** Where the missing records would be. */
  gap(gap: Gap): void {
    const text = gapText(gap)
    if (this.#agent) this.#control('gap', { ...gap })
    else if (this.#inline) this.#out.line(`-- ${text}`)
    else this.#stderr.write(`kim-tail: ${text}\n`)
  }

  /** In place of what a rate suppressed. */
  suppressed(held: Suppressed): void {
    const { first, last, n } = held
    const text = `${formatCount(n, 'record')} not shown (--max-rate); print them: --from-seq ${first} --to-seq ${last}`
    this.say('suppressed', text, { ...held })
  }

  /** The producer went down or came up. */
  producer(state: 'up' | 'down', since: string | undefined): void {
    this.say(`producer_${state}`, `the producer is ${state}`, { since })
  }

  /** A sign of life of this process. */
  heartbeat(seq: number): void {
    if (this.#agent) this.#control('heartbeat', { seq })
    // A blank line is no record to a program, and a real write all the same.
    else this.#out.line(this.#inline ? `-- heartbeat at seq ${seq}` : '')
  }

  /** Files that exist and cannot be read: silence must not look like no news. */
  unreadable(failures: readonly ReadFailure[]): void {
    for (const { code, path } of failures)
      this.warn(`cannot read ${basename(path)} (${code}); its records are not shown: ${path}`)
  }

  /** Something that must not be missed: on stderr in any case. */
  warn(text: string): void {
    const shown = safeText(text)
    this.#stderr.write(`kim-tail: ${this.#agent ? withoutTags(shown) : shown}\n`)
    if (this.#agent) this.#control('warning', { text })
  }

  /** An error, where the agent can see it. If it ends the command, stderr has it too. */
  error({ code, hint, message }: Pick<KimError, 'code' | 'hint' | 'message'>): void {
    if (this.#agent) this.#control('error', { code, message, hint })
  }

  /** A token for what was read. */
  cursor(token: string): void {
    if (this.#agent) this.#control('cursor', { token })
    else if (this.#inline) this.#out.line(`-- cursor: ${token}`)
    else this.#stderr.write(`cursor: ${token}\n`)
  }

  /** Last, with the way to continue. */
  end(reason: string, resume?: string): void {
    if (this.#agent) this.#control('end', { reason, resume })
  }

  #note(text: string): void {
    if (!this.#quiet) this.#stderr.write(`kim-tail: ${safeText(text)}\n`)
  }

  #control(name: string, facts: ControlFacts): void {
    this.#out.line(controlLine(name, facts))
  }
}
